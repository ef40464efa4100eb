'use strict';

const status = document.querySelector('#status');
const say = (text) => { status.textContent = text; };

async function post(path, value) {
  const response = await fetch(path, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify(value),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(text);
  return text;
}

// Subscribing needs a service worker, the user's permission (asked for from a
// click), and the server's public key.
async function subscribe() {
  const registration = await navigator.serviceWorker.register('sw.js');
  await navigator.serviceWorker.ready;
  if (await Notification.requestPermission() !== 'granted') throw new Error('notifications are not allowed');
  const key = await (await fetch('key')).text();
  const old = await registration.pushManager.getSubscription();
  if (old) await old.unsubscribe(); // it may have been made with another key
  const subscription = await registration.pushManager.subscribe({
    userVisibleOnly: true,
    applicationServerKey: key,
  });
  await post('subscribe', subscription);
  say('Subscribed.');
}

document.querySelector('#subscribe').addEventListener('click', () => subscribe().catch((e) => say('Could not subscribe: ' + e.message)));

document.querySelector('#form').addEventListener('submit', (event) => {
  event.preventDefault();
  const form = new FormData(event.target);
  post('send', { title: form.get('title'), body: form.get('body') })
    .then((text) => say('Sent: ' + text))
    .catch((e) => say('Could not send: ' + e.message));
});
