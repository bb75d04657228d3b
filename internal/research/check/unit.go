package check

import "strings"

// unit is a unit of measurement. Units of the same dimension can be converted.
type unit struct {
	dimension string
	factor    float64
}

// units are the units by name. They are the same in all languages, as far as their names do not collide.
var units = func() map[string]unit {
	out := make(map[string]unit)
	add := func(dimension string, factor float64, names string) {
		for name := range strings.SplitSeq(names, "|") {
			out[name] = unit{dimension, factor}
		}
	}
	add("%", 0.01, "%|percent|per cent|pct|prozent|vom hundert|procent|por ciento|pour cent|per cento|percents")
	add("%", 0.001, "‰|promille|per mille")
	add("point", 1, "percentage point|percentage points|prozentpunkt|prozentpunkte|prozentpunkten")
	add("length", 1, "m|metre|metres|meter|meters|metern")
	add("length", 1e3, "km|kilometre|kilometres|kilometer|kilometers|kilometern")
	add("length", 1e-2, "cm|centimetre|centimetres|centimeter|centimeters|zentimeter|zentimetern")
	add("length", 1e-3, "mm|millimetre|millimetres|millimeter|millimeters|millimetern")
	add("length", 1e-6, "µm|μm|um|micrometre|micrometres|micrometer|micrometers|micron|microns|mikrometer")
	add("length", 1e-9, "nm|nanometre|nanometres|nanometer|nanometers|nanometern")
	add("length", 1609.344, "mi|mile|miles|meile|meilen")
	add("length", 0.3048, "ft|foot|feet|fuß|fuss")
	add("length", 0.0254, "inch|inches|zoll")
	add("length", 0.9144, "yd|yard|yards")
	add("area", 1, "m2|m²|sq m|square metre|square metres|square meter|square meters|quadratmeter|quadratmetern")
	add("area", 1e6, "km2|km²|sq km|square kilometre|square kilometres|square kilometer|square kilometers|"+
		"quadratkilometer|quadratkilometern")
	add("area", 2589988, "sq mi|square mile|square miles|quadratmeile|quadratmeilen")
	add("area", 1e4, "ha|hectare|hectares|hektar")
	add("area", 4046.86, "acre|acres")
	add("time", 1, "s|sec|secs|second|seconds|sekunde|sekunden")
	add("time", 1e-3, "ms|millisecond|milliseconds|millisekunde|millisekunden")
	add("time", 60, "min|mins|minute|minutes|minuten")
	add("time", 3600, "h|hr|hrs|hour|hours|stunde|stunden")
	add("time", 86400, "day|days|tag|tage|tagen")
	add("time", 604800, "week|weeks|woche|wochen")
	add("time", 31556952/12.0, "month|months|monat|monate|monaten")
	add("time", 31556952, "yr|yrs|year|years|jahr|jahre|jahren")
	add("time", 315569520, "decade|decades|jahrzehnt|jahrzehnte|jahrzehnten")
	add("time", 3155695200, "century|centuries|jahrhundert|jahrhunderte|jahrhunderten")
	add("time", 31556952000, "millennium|millennia|jahrtausend|jahrtausende")
	add("mass", 1, "g|gram|grams|gramme|grammes|gramm")
	add("mass", 1e3, "kg|kilogram|kilograms|kilo|kilos|kilogramm")
	add("mass", 1e-3, "mg|milligram|milligrams|milligramm")
	add("mass", 1e-6, "µg|μg|microgram|micrograms|mikrogramm")
	add("mass", 1e6, "t|ton|tons|tonne|tonnes|tonnen")
	add("mass", 453.592, "lb|lbs")
	add("pound", 1, "pound|pounds") // of weight or sterling
	add("mass", 28.3495, "oz|ounce|ounces")
	add("volume", 1, "l|litre|litres|liter|liters|litern")
	add("volume", 1e-3, "ml|millilitre|millilitres|milliliter|milliliters|millilitern")
	add("volume", 3.78541, "gallon|gallons")
	add("data", 1, "bit|bits")
	add("data", 8, "b|byte|bytes")
	add("data", 8e3, "kb|kilobyte|kilobytes")
	add("data", 8*1024, "kib|kibibyte|kibibytes")
	add("data", 8e6, "mb|megabyte|megabytes")
	add("data", 8*1024*1024, "mib|mebibyte|mebibytes")
	add("data", 8e9, "gb|gigabyte|gigabytes")
	add("data", 8*1024*1024*1024, "gib|gibibyte|gibibytes")
	add("data", 8e12, "tb|terabyte|terabytes")
	add("speed", 1, "m/s|metres per second|meters per second|meter pro sekunde")
	add("speed", 1/3.6, "km/h|km/hr|kph|kilometres per hour|kilometers per hour|kilometer pro stunde|stundenkilometer")
	add("speed", 0.44704, "mph|mi/h|miles per hour|meilen pro stunde")
	add("temperature", 1, "°c|° c|degrees celsius|grad celsius|degree celsius")
	add("fahrenheit", 1, "°f|° f|degrees fahrenheit|grad fahrenheit")
	add("kelvin", 1, "kelvin")
	add("frequency", 1, "hz|hertz")
	add("frequency", 1e3, "khz|kilohertz")
	add("frequency", 1e6, "mhz|megahertz")
	add("frequency", 1e9, "ghz|gigahertz")
	add("power", 1, "w|watt|watts")
	add("power", 1e3, "kw|kilowatt|kilowatts")
	add("power", 1e6, "mw|megawatt|megawatts")
	add("power", 1e9, "gw|gigawatt|gigawatts")
	add("voltage", 1, "v|volt|volts")
	add("energy", 1, "kwh|kilowatt hour|kilowatt hours|kilowattstunde|kilowattstunden")
	add("dollar", 1, "$|dollar|dollars|usd")
	add("dollar", 0.01, "cent|cents")
	add("euro", 1, "€|euro|euros|eur")
	add("sterling", 1, "£|gbp")
	add("yen", 1, "¥|yen")
	return out
}()

// letterUnits are abbreviations of units that are words, too. An article before them does not make them one unit.
var letterUnits = map[string]bool{
	"m": true, "s": true, "g": true, "t": true, "l": true, "h": true, "v": true, "w": true, "mi": true, "ft": true,
	"min": true, "b": true, "ha": true, "hr": true, "um": true, "lb": true, "mb": true, "mw": true,
}

// unitAt returns the unit that the tokens from i on name, and how many tokens it takes.
func unitAt(tokens []token, i int) (unit, int) {
	const longest = 3
	var phrase strings.Builder
	var best unit
	size := 0
	for n := 0; n < longest && i+n < len(tokens); n++ {
		t := &tokens[i+n]
		if t.kind != word && (n == 0 || t.kind != identifier) || n > 0 && t.before&^(hyphen|slash|period) != 0 {
			break
		}
		if n > 0 {
			if t.before&slash != 0 {
				phrase.WriteByte('/')
			} else {
				phrase.WriteByte(' ')
			}
		}
		phrase.WriteString(t.fold)
		if u, ok := units[phrase.String()]; ok {
			best, size = u, n+1
		}
	}
	if size == 0 && i < len(tokens) && tokens[i].kind == identifier {
		if u, ok := units[tokens[i].fold]; ok { // km2
			return u, 1
		}
	}
	return best, size
}
