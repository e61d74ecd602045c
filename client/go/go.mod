module redlockd.invalid/client/go

go 1.19
