package pushtest

import (
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"time"
)

// What the big push services answer, each as a fault with its public source.

// WNSThrottled is how Windows Push Notification Services (Edge) say "too many":
// 406, not 429, and Retry-After.
//
// Source: learn.microsoft.com, "Push notification service request and response headers", response
// codes: "406 Not Acceptable: The cloud service exceeded its throttle limit", send again after
// Retry-After. Seen with "X-WNS-Status: appthrottled" and "Retry-After: 900" in
// web-push-libs/web-push-csharp issue 93; microsoft/WindowsAppSDK issue 3501 reports it as a bug,
// not fixed.
func WNSThrottled(retryAfter time.Duration) Fault {
	return func(x *Exchange) {
		h := x.Writer.Header()
		h.Set("Retry-After", strconv.Itoa(int(retryAfter/time.Second)))
		h.Set("X-Wns-Status", "appthrottled")
		h.Set("X-Wns-Notificationstatus", "appthrottled")
		x.Writer.WriteHeader(http.StatusNotAcceptable)
	}
}

// AppleKeyMismatch is Apple's answer to a token of another key than the
// subscription was made with: 400, where others say 401 or 403.
//
// Source: developer.apple.com, "Sending web push notifications in web apps and
// browsers", the table of errors: VapidPkHashMismatch.
func AppleKeyMismatch() Fault {
	return Answer(http.StatusBadRequest, `{"reason":"VapidPkHashMismatch"}`)
}

// FCMKeyMismatch is the same of Google's service: 403 and a sentence, as quoted in
// GoogleChrome/web.dev, "Common Issues and Reporting Bugs", and many issues since.
func FCMKeyMismatch() Fault {
	return Answer(http.StatusForbidden, "the VAPID credentials in the authorization header do not correspond to the credentials used to create the subscriptions.\n")
}

// bridgeBytes is how long a body may be in base64 on its way through a bridge.
const bridgeBytes = 4096

// AutopushBridge is Mozilla's service on the way to Firefox for Android, which it reaches through
// FCM: the body travels in base64 within 4096 bytes, and a longer one is refused with 413.
//
// Source: mozilla-services/autopush-rs, autoendpoint/src/routers/fcm/settings.rs (max_data: 4096)
// and common.rs; the answer as in SherClockHolmes/webpush-go issue 23: "This message is intended
// for a constrained device and is limited to 3070 bytes. Converted buffer too long by 1366 bytes".
func AutopushBridge() Fault {
	return func(x *Exchange) {
		over := (int(x.Request.ContentLength)*4+2)/3 - bridgeBytes
		if over <= 0 {
			x.Accept(x.Writer)
			return
		}
		io.Copy(io.Discard, x.Request.Body)     //nolint:errcheck // the client may be gone
		text, _ := json.Marshal(map[string]any{ //nolint:errcheck // strings and numbers always encode
			"code": 413, "errno": 104, "error": "Payload Too Large",
			"message": "This message is intended for a constrained device and is limited to 3070 bytes. Converted buffer too long by " + strconv.Itoa(over) + " bytes",
		})
		x.Writer.Header().Set("Content-Type", "application/json")
		x.Writer.WriteHeader(http.StatusRequestEntityTooLarge)
		x.Writer.Write(text) //nolint:errcheck // the client may be gone
	}
}

// AcceptThenStatus takes the message and still answers with a status, as a gateway does whose own
// connection to the service broke (502, 504) or a server that failed after it had stored the
// message (500): RFC 9110 section 15.6 says of none of them that the request had no effect.
func AcceptThenStatus(code int) Fault {
	return func(x *Exchange) {
		x.Accept(&blindWriter{header: make(http.Header)})
		Status(code)(x)
	}
}
