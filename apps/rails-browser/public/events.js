// Server-sent events: each as a line, with the time at which it came.
window.events = { ticks: [], source: null };
const show = (id, text) => { document.getElementById(id).textContent = text; };
const count = (id) => show(id, Number(document.getElementById(id).textContent) + 1);

const listen = (path) => {
  events.source?.close();
  events.source = new EventSource(path);
  events.source.onopen = () => count("opened");
  events.source.onerror = () => count("errors");
  events.source.addEventListener("tick", (event) => {
    events.ticks.push({ id: event.lastEventId, time: performance.now(), ...JSON.parse(event.data) });
    const line = document.createElement("li");
    line.textContent = event.data;
    document.getElementById("ticks").append(line);
  });
};

document.getElementById("open").addEventListener("click", () => listen("/events/stream"));
document.getElementById("forever").addEventListener("click", () => listen("/events/stream?forever=1"));
document.getElementById("close").addEventListener("click", () => events.source.close());
