package receiver

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"strings"
	"time"
)

// Claims are what a verified VAPID token says, and the key that signed it.
type Claims struct {
	Audience  string    // aud: the push service's origin
	Expires   time.Time // exp
	Subject   string    // sub: the sender's contact, "" if there is none
	PublicKey string    // k: the sender's key, unpadded base64url
}

// Errors of VerifyVAPID to branch on.
var (
	ErrNoVAPID  = errors.New("receiver: no vapid credentials") // or of another scheme
	ErrBadVAPID = errors.New("receiver: bad vapid credentials")
	ErrAudience = errors.New("receiver: vapid token for another audience")
	ErrExpired  = errors.New("receiver: vapid token expired")
	ErrTooLong  = errors.New("receiver: vapid token valid for more than 24 hours")
)

// VerifyVAPID checks the Authorization header of a push request (RFC 8292): the scheme, the ES256
// signature by the key in k, that aud is audience (the push service's origin), and that exp lies
// ahead of now by at most 24 hours. It does not check which key may send to which subscription;
// compare [Claims.PublicKey].
func VerifyVAPID(authorization, audience string, now time.Time) (Claims, error) {
	token, key, err := credentials(authorization)
	if err != nil {
		return Claims{}, err
	}
	claims, err := verifyToken(token, key)
	if err != nil {
		return Claims{}, fmt.Errorf("%w: %w", ErrBadVAPID, err)
	}
	claims.PublicKey = base64.RawURLEncoding.EncodeToString(key)
	switch {
	case claims.Audience != audience:
		return claims, ErrAudience
	case !claims.Expires.After(now):
		return claims, ErrExpired
	case claims.Expires.After(now.Add(24 * time.Hour)):
		return claims, ErrTooLong
	}
	return claims, nil
}

// credentials splits "vapid t=..., k=..." (RFC 8292 section 3).
func credentials(authorization string) (token string, key []byte, err error) {
	scheme, parameters, _ := strings.Cut(authorization, " ")
	if !strings.EqualFold(scheme, "vapid") {
		return "", nil, ErrNoVAPID
	}
	for parameter := range strings.SplitSeq(parameters, ",") {
		name, value, ok := strings.Cut(strings.TrimSpace(parameter), "=")
		if !ok {
			return "", nil, fmt.Errorf("%w: a parameter without a value", ErrBadVAPID)
		}
		value = strings.Trim(value, `"`)
		switch strings.ToLower(name) {
		case "t":
			token = value
		case "k":
			if key, err = base64.RawURLEncoding.DecodeString(value); err != nil {
				return "", nil, fmt.Errorf("%w: k is not base64url", ErrBadVAPID)
			}
		}
	}
	if token == "" || key == nil {
		return "", nil, fmt.Errorf("%w: t or k is missing", ErrBadVAPID)
	}
	return token, key, nil
}

// verifyToken checks a JWT in compact form (RFC 7515 section 3.1).
func verifyToken(token string, key []byte) (Claims, error) {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return Claims{}, errors.New("not three parts")
	}
	var head struct{ Alg, Typ string }
	if err := decodePart(parts[0], &head); err != nil || head.Alg != "ES256" || head.Typ != "" && !strings.EqualFold(head.Typ, "JWT") {
		return Claims{}, errors.New("the header is not of a JWT signed with ES256")
	}
	signature, err := base64.RawURLEncoding.DecodeString(parts[2])
	if err != nil || len(signature) != 64 {
		return Claims{}, errors.New("signature is not 64 bytes of base64url")
	}
	public, err := ecdsa.ParseUncompressedPublicKey(elliptic.P256(), key)
	if err != nil {
		return Claims{}, errors.New("k is not a point on P-256")
	}
	digest := sha256.Sum256([]byte(parts[0] + "." + parts[1]))
	r := new(big.Int).SetBytes(signature[:32])
	s := new(big.Int).SetBytes(signature[32:])
	if !ecdsa.Verify(public, digest[:], r, s) {
		return Claims{}, errors.New("signature does not verify")
	}
	var body struct {
		Audience *string      `json:"aud"`
		Expires  *json.Number `json:"exp"`
		Subject  string       `json:"sub"`
	}
	if err := decodePart(parts[1], &body); err != nil || body.Audience == nil || body.Expires == nil {
		return Claims{}, errors.New("the claims are not JSON with aud and exp")
	}
	expires, err := body.Expires.Float64() // NumericDate may have a fraction (RFC 7519 section 2)
	if err != nil || expires < 0 || expires > 1<<40 {
		return Claims{}, errors.New("exp is not a time")
	}
	return Claims{Audience: *body.Audience, Expires: time.Unix(int64(expires), 0), Subject: body.Subject}, nil
}

func decodePart(part string, into any) error {
	b, err := base64.RawURLEncoding.DecodeString(part)
	if err != nil {
		return err
	}
	return json.Unmarshal(b, into)
}
