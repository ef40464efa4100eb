// Package pushtest is a push service for tests, as net/http/httptest is a server for tests. It
// speaks HTTPS with HTTP/2 on loopback, checks what a real push service checks (RFC 8030, RFC 8291
// section 4, RFC 8292), opens the messages as the browser would, and can be told to misbehave.
//
//	service := pushtest.NewServer()
//	defer service.Close()
//	browser := service.Subscribe(keys.PublicKey())
//	service.Inject(pushtest.Status(http.StatusTooManyRequests), pushtest.Reset()) // the next two requests
//	... send to browser.JSON() with service.Transport() ...
//	messages := browser.Messages()
package pushtest
