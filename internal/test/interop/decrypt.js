// Reads lines of {"private", "auth", "body"} (base64url) and writes, for each,
// the message that npm's http_ece decrypts (base64url), or "error: ...".
'use strict';
const crypto = require('crypto');
const readline = require('readline');
const ece = require('http_ece');

readline.createInterface({ input: process.stdin }).on('line', (line) => {
  try {
    const c = JSON.parse(line);
    const privateKey = crypto.createECDH('prime256v1');
    privateKey.setPrivateKey(Buffer.from(c.private, 'base64url'));
    const message = ece.decrypt(Buffer.from(c.body, 'base64url'), {
      version: 'aes128gcm',
      privateKey,
      authSecret: c.auth,
    });
    console.log(message.toString('base64url'));
  } catch (e) {
    console.log('error: ' + e.message);
  }
});
