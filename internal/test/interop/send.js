// Reads lines of {"subscription", "message", "publicKey", "privateKey", "subject"}
// and writes, for each, the request that npm's web-push would send:
// {"authorization", "ttl", "encoding", "body"}.
'use strict';
const readline = require('readline');
const webpush = require('web-push');

readline.createInterface({ input: process.stdin }).on('line', (line) => {
  try {
    const c = JSON.parse(line);
    const details = webpush.generateRequestDetails(c.subscription, Buffer.from(c.message, 'base64url'), {
      vapidDetails: { subject: c.subject, publicKey: c.publicKey, privateKey: c.privateKey },
      contentEncoding: 'aes128gcm',
      TTL: 60,
    });
    console.log(JSON.stringify({
      authorization: details.headers.Authorization,
      ttl: String(details.headers.TTL),
      encoding: details.headers['Content-Encoding'],
      body: details.body.toString('base64url'),
    }));
  } catch (e) {
    console.log(JSON.stringify({ error: e.message }));
  }
});
