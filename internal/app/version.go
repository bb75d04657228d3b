package app

import (
	"runtime/debug"
)

// version is set by the linker when a release is built.
var version = ""

// Version names this build: the release, or the commit it was built from.
func Version() string {
	if version != "" {
		return version
	}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" && len(s.Value) >= 12 {
				return s.Value[:12]
			}
		}
	}
	return "dev"
}
