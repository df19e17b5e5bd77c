async function draw({ root, ask }) {
  root.append(...showBundle(await ask("bundle")));
}

export default panel("static_view", draw);
