// Figures in the spelling of the command line: three digits, rates with their counts and interval.

function figure(value) {
  for (const [scale, suffix] of [
    [1e9, "G"],
    [1e6, "M"],
    [1e3, "k"],
  ]) {
    if (Math.abs(value) >= scale * 0.9995) return Number((value / scale).toPrecision(3)) + suffix;
  }
  return String(Number(value.toPrecision(3)));
}

function percent(share) {
  const points = 100 * share;
  return points >= 9.95 || points < 0.05 ? points.toFixed(0) : points.toFixed(1);
}

function interval(low, high) {
  return `${percent(low)}–${percent(high)} %`;
}

function seconds(value) {
  if (value < 60) return `${value < 9.95 ? value.toFixed(1) : value.toFixed(0)} s`;
  const whole = Math.round(value);
  const [hours, minutes] = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60];
  return hours ? `${hours} h ${minutes} min` : `${minutes} min ${whole % 60} s`;
}

function size(bytes) {
  if (bytes === null) return "–";
  const gib = bytes / 2 ** 30;
  return gib >= 1 ? `${gib.toFixed(1)} GiB` : `${(bytes / 2 ** 20).toFixed(0)} MiB`;
}

function speedText(speed) {
  if (!speed) return "";
  const [median, low, high] = speed.map(figure);
  return low === high ? `${median} slots/s` : `${median} slots/s (${low}–${high})`;
}

function counted(number, noun) {
  return `${number.toLocaleString("en")} ${noun}${number === 1 ? "" : "s"}`;
}
