package webpush

import (
	"context"
	"log/slog"
	"net"
	"strings"
	"time"
)

// An Attempt is one request, before it is made. It names no secret.
type Attempt struct {
	Origin      string
	Fingerprint string // of the subscription
	Number      int    // 1 for a message's first
	BodyBytes   int
}

// An AttemptResult is what came of a request.
type AttemptResult struct {
	Outcome Outcome
	Status  int           // 0 if no answer came
	Elapsed time.Duration // from asking for a connection to the end of the answer
	Err     error         // nil, or why no answer came; may name the endpoint: see Attrs
}

// An AttemptHook is called before each request and returns what is called after
// it. The context it returns is the request's: one with a span of OpenTelemetry
// in it, for example. It is called by several goroutines at once.
type AttemptHook func(ctx context.Context, a Attempt) (context.Context, func(AttemptResult))

// Attrs are the attempt's attributes under the names of OpenTelemetry's semantic
// conventions for HTTP clients, and two of our own.
func (a Attempt) Attrs() []slog.Attr {
	attrs := []slog.Attr{
		slog.String("http.request.method", "POST"),
		slog.String("webpush.subscription", a.Fingerprint),
		slog.Int("http.request.body.size", a.BodyBytes),
	}
	if scheme, host, ok := strings.Cut(a.Origin, "://"); ok {
		if name, _, err := net.SplitHostPort(host); err == nil {
			host = name
		}
		attrs = append(attrs, slog.String("url.scheme", scheme), slog.String("server.address", strings.Trim(host, "[]")))
	}
	if a.Number > 1 {
		attrs = append(attrs, slog.Int("http.request.resend_count", a.Number-1))
	}
	return attrs
}

// Attrs are the result's attributes, named in the same way. error.type is the outcome, so that it
// has few values and no secret.
func (r AttemptResult) Attrs() []slog.Attr {
	attrs := []slog.Attr{slog.String("webpush.outcome", r.Outcome.String()), slog.Duration("http.client.request.duration", r.Elapsed)}
	if r.Status != 0 {
		attrs = append(attrs, slog.Int("http.response.status_code", r.Status))
	}
	if r.Outcome != Accepted {
		attrs = append(attrs, slog.String("error.type", r.Outcome.String()))
	}
	return attrs
}

// LogAttempts is a hook that logs each attempt: those accepted at the level Debug,
// a subscription that is gone at Info, all others at Warn.
func LogAttempts(logger *slog.Logger) AttemptHook {
	return func(ctx context.Context, a Attempt) (context.Context, func(AttemptResult)) {
		return ctx, func(r AttemptResult) {
			level := slog.LevelWarn
			switch r.Outcome {
			case Accepted:
				level = slog.LevelDebug
			case Gone:
				level = slog.LevelInfo
			}
			if logger.Enabled(ctx, level) {
				logger.LogAttrs(ctx, level, "webpush: attempt", append(a.Attrs(), r.Attrs()...)...)
			}
		}
	}
}
