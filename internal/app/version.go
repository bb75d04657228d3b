package app

import (
	"runtime/debug"
)

// version is set by the linker in release builds.
var version = ""

// Version returns the release, or the commit of a development build.
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
