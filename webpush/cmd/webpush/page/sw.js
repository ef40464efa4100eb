'use strict';

// The message is a declarative one. Browsers that know those show it without
// running this; for the others, it is shown here.
self.addEventListener('push', (event) => {
  let notification = { title: 'A message', navigate: '/' };
  try {
    notification = event.data.json().notification;
  } catch { /* not JSON: something has to be shown all the same */ }
  event.waitUntil(self.registration.showNotification(notification.title, {
    body: notification.body,
    data: { navigate: notification.navigate },
  }));
});

self.addEventListener('notificationclick', (event) => {
  event.notification.close();
  event.waitUntil(self.clients.openWindow(event.notification.data.navigate));
});
