module endpoint

go 1.24.0

require golang.org/x/net v0.50.0

require (
	golang.org/x/crypto v0.48.0 // indirect
	golang.org/x/sys v0.41.0 // indirect
)
