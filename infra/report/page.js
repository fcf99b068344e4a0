"use strict";
for (const figure of document.querySelectorAll('script[type="application/json"]')) {
  const { data, layout } = JSON.parse(figure.textContent);
  Plotly.newPlot(figure.dataset.plot, data, layout, { displayModeBar: false, responsive: true });
}
const closed = [];
addEventListener("beforeprint", () => {
  for (const one of document.querySelectorAll("details:not([open])")) {
    one.open = true;
    closed.push(one);
  }
  document.querySelectorAll(".js-plotly-plot").forEach((one) => Plotly.Plots.resize(one));
});
addEventListener("afterprint", () => {
  while (closed.length) closed.pop().open = false;
});
