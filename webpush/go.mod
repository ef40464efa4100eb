module postage/webpush

go 1.26.0

require (
	github.com/SherClockHolmes/webpush-go v1.4.0
	github.com/golang-jwt/jwt/v5 v5.3.1
	pgregory.net/rapid v1.3.0
)

require golang.org/x/crypto v0.31.0 // indirect
