"""What runs leave: records, last results, drift, forms, documents, links."""
