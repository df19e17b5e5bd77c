// Two images held against each other, in the browser: side by side, swiped, laid over, subtracted.

const NOISE = 24;

/** Return an image once it is loaded. */
function loadImage(source, alt) {
  return new Promise((resolve, reject) => {
    const image = h("img", { alt });
    image.onload = () => resolve(image);
    image.onerror = () => reject(new Error(`The ${alt} is no image that this browser can show.`));
    image.src = source;
  });
}

function pixelsOf(image, width, height) {
  const canvas = h("canvas", { width: String(width), height: String(height) });
  const context = canvas.getContext("2d", { willReadFrequently: true });
  context.drawImage(image, 0, 0);
  return context.getImageData(0, 0, width, height);
}

/** Draw where two images differ; gives the canvas, and how many pixels of how many do. */
function subtract(before, after) {
  const width = Math.max(before.naturalWidth, after.naturalWidth);
  const height = Math.max(before.naturalHeight, after.naturalHeight);
  const [old, now] = [before, after].map((image) => pixelsOf(image, width, height));
  const made = new ImageData(width, height);
  let differ = 0;
  for (let at = 0; at < made.data.length; at += 4) {
    const distance = farthest(old.data, now.data, at);
    if (distance > 0) differ += 1;
    const grey = 255 - (255 - (now.data[at] + now.data[at + 1] + now.data[at + 2]) / 3) * 0.2;
    const shade = distance === 0 ? [grey, grey, grey] : distance > NOISE ? [214, 0, 80] : [235, 160, 0];
    made.data.set([...shade, 255], at);
  }
  const label = `difference image: ${differ} of ${width * height} pixels differ`;
  const canvas = h("canvas", { width: String(width), height: String(height), role: "img", "aria-label": label });
  canvas.getContext("2d").putImageData(made, 0, 0);
  return { canvas, differ, all: width * height, sizes: [before, after].map((i) => `${i.naturalWidth} × ${i.naturalHeight}`) };
}

function farthest(one, other, at) {
  let most = 0;
  for (let channel = 0; channel < 4; channel++) most = Math.max(most, Math.abs(one[at + channel] - other[at + channel]));
  return most;
}

const IMAGE_VIEWS = { side: "Side by side", swipe: "Swipe", onion: "Onion skin", difference: "Difference" };

/** Draw two images into a place, with the ways to hold them against each other. */
async function drawImages(place, [before, after]) {
  const [old, now] = await Promise.all([loadImage(before, "baseline"), loadImage(after, "actual")]);
  const { canvas, differ, all, sizes } = subtract(old, now);
  const words = differ ? `${differ.toLocaleString("en")} of ${all.toLocaleString("en")} pixels differ` : "Every pixel is equal";
  const resized = sizes[0] === sizes[1] ? "" : `, ${sizes[0]} became ${sizes[1]}`;
  const stage = h("div", { class: "rp-stage" });
  const views = h("div", { class: "rp-row", role: "group", "aria-label": "How the images are compared" });
  const slider = h("input", { type: "range", min: "0", max: "100", value: "50", "aria-label": "Share of the actual image" });
  let chosen = "side";

  function layered(clip) {
    const share = slider.value / 100;
    now.style.clipPath = clip ? `inset(0 0 0 ${100 - slider.value}%)` : "";
    now.style.opacity = clip ? "" : String(share);
  }

  function plain() {
    now.style.clipPath = now.style.opacity = "";
    return [captioned("baseline", old), captioned("actual", now)];
  }

  function choose(view) {
    chosen = view;
    const layers = view === "swipe" || view === "onion";
    slider.hidden = !layers;
    stage.className = `rp-stage rp-${view}`;
    if (view === "difference") stage.replaceChildren(captioned("difference", canvas));
    else if (layers) stage.replaceChildren(h("div", { class: "rp-layers" }, old, now));
    else stage.replaceChildren(...plain());
    if (layers) layered(view === "swipe");
    const buttons = Object.entries(IMAGE_VIEWS).map(([id, name]) =>
      h("button", { "data-key": `view ${id}`, "aria-pressed": String(id === view), onclick: () => choose(id) }, name),
    );
    fill(views, ...buttons, slider);
  }
  slider.addEventListener("input", () => layered(chosen === "swipe"));
  choose("side");
  place.replaceChildren(views, h("p", { class: "rp-faint rp-pixels" }, `${words}${resized}.`), stage);
}

function captioned(name, image) {
  return h("figure", {}, h("figcaption", { class: "rp-faint" }, name), image);
}
