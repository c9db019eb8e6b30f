// The chat: every message as a line of the list, and every end of a WebSocket with its code.
window.chat = { closed: [], messages: [] };

ActionCable.adapters.WebSocket = class extends WebSocket {
  constructor(...words) {
    super(...words);
    this.addEventListener("close", (event) => {
      chat.closed.push({ code: event.code, clean: event.wasClean });
      document.getElementById("closed").textContent = chat.closed.map((one) => one.code).join(" ");
    });
  }
};

const state = document.getElementById("state");
chat.consumer = ActionCable.createConsumer();
chat.channel = chat.consumer.subscriptions.create("ChatChannel", {
  connected() { state.textContent = "connected"; },
  disconnected() { state.textContent = "disconnected"; },
  rejected() { state.textContent = "rejected"; },
  received(message) {
    chat.messages.push(message);
    const line = document.createElement("li");
    const words = message.text.length > 60 ? `${message.text.length} characters` : message.text;
    line.textContent = [message.kind, message.visitor, words].filter(Boolean).join(" ");
    document.getElementById("messages").append(line);
  },
});

document.getElementById("say").addEventListener("submit", (event) => {
  event.preventDefault();
  const field = document.getElementById("words");
  chat.channel.perform("say", { text: field.value });
  field.value = "";
});
