package core

// CapabilitySet is a set of capabilities. It is a number, so that asking it costs nothing.
type CapabilitySet uint16

// AllCapabilities lists what a plan may allow: what can be done with agents, and reaching them by MCP.
func AllCapabilities() []Capability {
	return append(capabilities[:len(capabilities):len(capabilities)], CapMCP)
}

// bit is the place of a capability in a set; one that nobody knows has none.
func (c Capability) bit() CapabilitySet {
	switch c {
	case CapSearch:
		return 1 << 0
	case CapChat:
		return 1 << 1
	case CapResearch:
		return 1 << 2
	case CapMemories:
		return 1 << 3
	case CapFavourites:
		return 1 << 4
	case CapManage:
		return 1 << 5
	case CapMCP:
		return 1 << 6
	}
	return 0
}

// Known reports whether there is such a capability.
func (c Capability) Known() bool { return c.bit() != 0 }

// SetOf returns the set of these capabilities.
func SetOf(list ...Capability) (s CapabilitySet) {
	for _, c := range list {
		s |= c.bit()
	}
	return s
}

// Without returns the set of all capabilities but these: what a plan that has these lacks.
func Without(list ...Capability) CapabilitySet { return SetOf(AllCapabilities()...) &^ SetOf(list...) }

// Has reports whether a capability is in the set.
func (s CapabilitySet) Has(c Capability) bool { return s&c.bit() != 0 }
