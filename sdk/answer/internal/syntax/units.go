package syntax

import "strings"

// units are words that do not change a number when they follow it.
var units = func() map[string]bool {
	m := map[string]bool{}
	for _, w := range strings.Fields(`
mm cm dm km nm ft yd mi inch inches foot feet yard mile meter metre centimeter centimetre millimeter kilometer kilometre
mg kg gram kilogram pound lb lbs ounce oz ton tonne ml dl liter litre gallon gal quart pint cup cc
sec second min minute hr hour day week month year yr decade century ms
mph kmh kph kmph km/h m/s fps rpm hz khz mhz ghz kw kwh watt volt amp ampere ohm joule newton pa kpa mol
sq square cubic cu unit degree radian rad dollar cent euro pence usd eur yuan rupee rs bucks
percent people person student child children apple book ticket coin mark point piece item time way digit number
integer solution triangle rectangle page word letter car dog cat bird fish egg cookie cake pie slice box bag bottle
men man women woman boy girl game step round marble ball card dice tile brick edge vertex vertices face side
row column seat table chair tree flower acre hectare am pm noon per each total of the more less older younger
cow sheep goat horse chicken rabbit player team friend member worker house room day's am. pm. calorie mile/hour miles/hour
toy meal lap run goal shot pencil pen crayon sticker stamp candy candies cupcake muffin pizza sandwich orange banana
`) {
		m[w] = true
		m[w+"s"] = true
		m[w+"es"] = true
	}
	for _, w := range []string{"of", "the", "as", "is"} {
		delete(m, w+"s")
	}
	return m
}()

func unit(word string) bool { return units[word] }

// shortUnits are letters that are a unit when they follow a number at the end: 5 m.
const shortUnits = "mgshL"
