module postage/webpush

go 1.26.0
