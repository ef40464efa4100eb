module postage/pbfast

go 1.23.0

require google.golang.org/protobuf v1.36.0
