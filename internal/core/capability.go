package core

// CapabilitySet is a set of capabilities, as a bit mask.
type CapabilitySet uint16

// AllCapabilities lists the capabilities that a plan can include.
func AllCapabilities() []Capability {
	return append(capabilities[:len(capabilities):len(capabilities)], CapMCP)
}

// bit returns the bit of a capability, or 0 for an unknown one.
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
	case CapShare:
		return 1 << 7
	}
	return 0
}

// Known reports whether c is one of AllCapabilities.
func (c Capability) Known() bool { return c.bit() != 0 }

// SetOf returns a set of capabilities.
func SetOf(list ...Capability) (s CapabilitySet) {
	for _, c := range list {
		s |= c.bit()
	}
	return s
}

var everyCapability = SetOf(AllCapabilities()...)

// Without returns the set of all capabilities except these.
func Without(list ...Capability) CapabilitySet { return everyCapability &^ SetOf(list...) }

// Has reports whether the set contains a capability.
func (s CapabilitySet) Has(c Capability) bool { return s&c.bit() != 0 }
