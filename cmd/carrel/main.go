// Command carrel is the whole service: server, administration and tools.
package main

import (
	"os"

	"carrel/internal/cli"
)

func main() {
	os.Exit(cli.Main(os.Args[1:], cli.System()))
}
