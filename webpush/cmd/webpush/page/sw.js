'use strict';

// Shows any message: a declarative one, where the browser did not show it without running this,
// JSON with the same members at the top, or text.
self.addEventListener('push', (event) => {
  let n = {};
  try {
    const message = event.data.json();
    n = message?.notification ?? message;
  } catch {
    n = { body: event.data?.text() };
  }
  if (typeof n !== 'object') n = { body: String(n) };
  event.waitUntil(self.registration.showNotification(n?.title ?? 'A message', {
    ...n,
    data: { navigate: n?.navigate ?? '/', data: n?.data },
  }));
});

self.addEventListener('notificationclick', (event) => {
  event.notification.close();
  const { navigate, data } = event.notification.data;
  const action = event.notification.actions?.find((a) => a.action === event.action);
  event.waitUntil(self.clients.openWindow(action?.navigate ?? navigate ?? data?.url ?? '/'));
});
