// Lines of the last frames in a small canvas.

// Frames that are shown: as many as the window of the program shows.
export const SHOWN = 300;

// Draws `values` from the left to the right, 0 at the bottom, and a dashed line at `mark` if there is one.
export function plot(canvas, values, mark, color) {
  const scale = devicePixelRatio || 1;
  const [width, height] = [canvas.clientWidth, canvas.clientHeight].map((side) => Math.max(1, Math.round(side * scale)));
  if (canvas.width !== width || canvas.height !== height) [canvas.width, canvas.height] = [width, height];
  const context = canvas.getContext('2d');
  context.clearRect(0, 0, width, height);
  const finite = values.filter(Number.isFinite);
  const top = 1.15 * Math.max(mark ?? 0, ...finite, 1e-9);
  const y = (value) => height - (Math.min(value, top) / top) * height;
  context.lineWidth = 1.5 * scale;
  context.strokeStyle = color;
  context.beginPath();
  values.forEach((value, index) => context.lineTo((index / (SHOWN - 1)) * width, y(Number.isFinite(value) ? value : top)));
  context.stroke();
  if (mark !== undefined) {
    context.setLineDash([4 * scale, 4 * scale]);
    context.globalAlpha = 0.7;
    context.beginPath();
    context.moveTo(0, y(mark));
    context.lineTo(width, y(mark));
    context.stroke();
    context.globalAlpha = 1;
    context.setLineDash([]);
  }
}
