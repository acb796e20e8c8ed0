import ConformanceKit
import Experimentation
import Foundation
import Testing

@Suite("Worlds as documents")
struct WorldDocumentTests {
    @Test("every named world survives a round trip", arguments: World.named)
    func roundTrip(_ world: World) throws {
        #expect(try World(json: try world.json()) == world)
        #expect(try JSONDecoder().decode(World.self, from: JSONEncoder().encode(world)) == world)
    }

    @Test("the world of every case survives a round trip", arguments: ConformanceCase.all)
    func roundTripOfCases(_ conformanceCase: ConformanceCase) throws {
        #expect(try World(json: try conformanceCase.world.json()) == conformanceCase.world)
    }

    @Test(
        "errors name the document, the position and what was expected",
        arguments: [
            ("", "w.json: is empty; expected a JSON object"),
            ("{", "w.json: is not complete, valid JSON"),
            ("[]", "w.json: expected an object, found a list"),
            ("{}", "w.json: name: expected a text, found nothing"),
            (#"{"name":""}"#, "w.json: name: expected a text that is not empty, found \"\""),
            (#"{"name":"w","flgs":[]}"#, "w.json: flgs: unknown key; known here are"),
            (
                #"{"name":"w","flags":[{"key":"a","value":1,"type":"bool"}]}"#,
                "w.json: flags[0].value: expected a value of type bool, found 1"
            ),
            (#"{"name":"w","flags":[{"key":"a"}]}"#, "w.json: flags[0].value: expected a value"),
            (
                #"{"name":"w","flags":[{"key":"a","value":1},{"key":"a","value":2}]}"#,
                "w.json: flags[1].key: \"a\" is there twice"
            ),
            (
                #"{"name":"w","flags":[{"key":"a","value":1,"experiment":"e"}]}"#,
                "w.json: flags[0].experiment: no experiment has the id \"e\""
            ),
            (
                #"{"name":"w","experiments":[{"id":"e","variations":[{"id":"v","weight":101}]}]}"#,
                "w.json: experiments[0].variations[0].weight: expected a whole number from 0 to 100, found 101"
            ),
            (
                #"{"name":"w","experiments":[{"id":"e","variations":[{"id":"v","weight":60},{"id":"u","weight":60}]}]}"#,
                "w.json: experiments[0].variations: the weights sum up to 120, more than 100"
            ),
            (
                #"{"name":"w","experiments":[{"id":"e","layer":{"id":"l","from":50,"to":50},"variations":[{"id":"v","weight":9}]}]}"#,
                "w.json: experiments[0].layer.to: expected more than \"from\", which is 50, found 50"
            ),
            (
                #"{"name":"w","experiments":[{"id":"e","layer":{"id":"l","from":0,"to":5,"x":1},"variations":[{"id":"v","weight":9}]}]}"#,
                "w.json: experiments[0].layer.x: unknown key; known here are"
            ),
            (#"{"name":"w","users":[{"attributes":{}}]}"#, "w.json: users[0].id: expected a text, found nothing"),
            (
                #"{"name":"w","users":[{"id":"u","consent":"maybe"}]}"#,
                "w.json: users[0].consent: expected true, false, unknown, granted or denied, found \"maybe\""
            ),
            (
                #"{"name":"w","campaigns":[{"id":"c","target":"t","trigger":"sneeze","experience":"e"}]}"#,
                "w.json: campaigns[0].trigger: expected one of"
            ),
            (#"{"name":"w","killSwitch":"on"}"#, "w.json: killSwitch: expected true or false, found \"on\""),
        ]
    )
    func errors(_ json: String, _ message: String) {
        let error = #expect(throws: DocumentError.self) { try World(json: Array(json.utf8), named: "w.json") }
        #expect(error?.description.hasPrefix(message) == true, "\(error?.description ?? "no error")")
    }

    @Test("a document nested a hundred levels deep is rejected before it is decoded")
    func deep() {
        let json = String(repeating: "[", count: 100) + String(repeating: "]", count: 100)
        let error = #expect(throws: DocumentError.self) { try World(json: Array(json.utf8)) }
        #expect(error?.problem == "is nested more than 64 levels deep")
    }

    @Test(
        "faults survive a round trip",
        arguments: [
            WorldFault(.status(503, retryAfter: 2), on: .events, after: 1, times: 3), WorldFault(.stall, times: nil),
            WorldFault(.delay(milliseconds: 20), on: .decisions), WorldFault(.redirect, on: .exposures),
        ]
    )
    func faults(_ fault: WorldFault) throws {
        var reader = try DocumentReader(fault.document, named: "fault")
        #expect(try WorldFault(reading: &reader) == fault)
        try reader.finish()
    }
}
