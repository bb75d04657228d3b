// Command carrel is the whole service: server, administration and tools.
package main

import (
	"os"

	"carrel/internal/app"
)

func main() {
	os.Exit(app.Main(os.Args[1:], app.System()))
}
