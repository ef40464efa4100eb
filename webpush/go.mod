module postage/webpush

// The oldest Go that has ecdsa.ParseUncompressedPublicKey, sync.WaitGroup.Go and testing/synctest.
go 1.25.0
