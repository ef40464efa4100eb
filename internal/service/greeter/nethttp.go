package greeter

import (
	"bytes"
	"io"
	"log"
	"net/http"
	"strconv"

	"postage/internal/service/greeter/hello"
)

// netHTTP serves HTTP/1.1 and HTTP/2, with TLS or without, by net/http.
func (h *host) netHTTP() (string, error) { return h.serveHTTP(h) }

func (h *host) serveHTTP(handler http.Handler) (string, error) {
	alpn := []string{"h2", "http/1.1"}
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	if h.config.Fault.HTTP1Only {
		alpn = alpn[1:]
	} else {
		protocols.SetHTTP2(true)
		protocols.SetUnencryptedHTTP2(true)
	}
	config, err := h.tls(alpn...)
	if err != nil {
		return "", err
	}
	l, err := h.tcp()
	if err != nil {
		return "", err
	}
	s := &http.Server{
		Handler: handler, TLSConfig: config, Protocols: protocols, ErrorLog: log.New(io.Discard, "", 0),
	}
	go func() {
		if config != nil {
			_ = s.ServeTLS(l, "", "")
		} else {
			_ = s.Serve(l)
		}
	}()
	return l.Addr().String(), nil
}

// ServeHTTP answers a request, by any version of HTTP.
func (h *host) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h.request(r.Proto)
	request := new(hello.Request)
	if r.Method == http.MethodGet {
		// A request sent before the handshake is done must not have a body.
		request.Secure = r.URL.Query().Get("secure")
	} else {
		body, err := readBody(r)
		if err == nil {
			err = h.codec.Unmarshal(body, request)
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
	}
	out, err := h.answer(request, r.Proto)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", h.codec.ContentType)
	w.Header().Set("Content-Length", strconv.Itoa(len(out)))
	_, _ = w.Write(out)
}

// readBody reads the request's body.
func readBody(r *http.Request) ([]byte, error) {
	if r.ContentLength < 0 {
		return io.ReadAll(r.Body)
	}
	var buffer bytes.Buffer
	buffer.Grow(int(r.ContentLength) + bytes.MinRead)
	_, err := buffer.ReadFrom(r.Body)
	return buffer.Bytes(), err
}
