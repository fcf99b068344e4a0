//go:build tools

// Package engine names the program that is built, so that go.mod keeps what it needs.
package engine

import _ "github.com/pulumi/pulumi/pkg/v3/cmd/pulumi"
