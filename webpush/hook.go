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
	Err     error         // nil, or why no answer came
}

// An AttemptHook is called before each request and returns what is called after
// it. The context it returns is the request's: one with a span of OpenTelemetry
// in it, for example. It is called by several goroutines at once.
type AttemptHook func(ctx context.Context, a Attempt) (context.Context, func(AttemptResult))

// LogAttempts is a hook that logs each attempt: those accepted at the level Debug, a subscription
// that is gone at Info, all others at Warn. Attributes have the names of OpenTelemetry's semantic
// conventions for HTTP clients; error.type is the outcome.
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
			if !logger.Enabled(ctx, level) {
				return
			}
			scheme, host, _ := strings.Cut(a.Origin, "://")
			if name, _, err := net.SplitHostPort(host); err == nil {
				host = name
			}
			attrs := []slog.Attr{
				slog.String("webpush.subscription", a.Fingerprint), slog.String("webpush.outcome", r.Outcome.String()),
				slog.String("url.scheme", scheme), slog.String("server.address", strings.Trim(host, "[]")),
				slog.Int("http.request.body.size", a.BodyBytes), slog.Duration("http.client.request.duration", r.Elapsed),
			}
			if a.Number > 1 {
				attrs = append(attrs, slog.Int("http.request.resend_count", a.Number-1))
			}
			if r.Status != 0 {
				attrs = append(attrs, slog.Int("http.response.status_code", r.Status))
			}
			if r.Outcome != Accepted {
				attrs = append(attrs, slog.String("error.type", r.Outcome.String()))
			}
			logger.LogAttrs(ctx, level, "webpush: attempt", attrs...)
		}
	}
}
