package webpush_test

func childService() error { return nil }

func childSender() error { return nil }
