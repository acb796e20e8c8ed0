import AdapterKit
import Experimentation
import Foundation
import Testing

@Suite("Settings")
struct SettingsTests {
    private enum Mode: String, CaseIterable { case fast, slow }

    private func reader(_ text: String) throws -> SettingsReader {
        try SettingsReader(json: Array(text.utf8), file: "xp.json", environment: ["KEY": "from-env", "EMPTY": ""])
    }

    @Test("every kind of setting is read, or has its default")
    func reads() throws {
        var settings = try reader(
            #"{"id":"e","key":{"env":"KEY"},"other":"k","on":true,"count":3,"ratio":0.5,"wait":1.5,"mode":"slow","list":["a","b"],"none":null,"endpoints":{"main":"http://127.0.0.1:1/v2/"}}"#
        )
        #expect(try settings.string("id") == "e")
        #expect(try settings.secret("key").reveal() == "from-env")
        #expect(try settings.secret("other").reveal() == "k")
        #expect(try settings.optionalSecret("third") == nil)
        #expect(try settings.bool("on", default: false))
        #expect(try settings.bool("off", default: true))
        #expect(try settings.int("count", default: 1, in: 1...5) == 3)
        #expect(try settings.double("ratio", default: 1) == 0.5)
        #expect(try settings.seconds("wait", default: .zero) == .milliseconds(1500))
        #expect(try settings.seconds("pause", default: .seconds(9)) == .seconds(9))
        #expect(try settings.choice("mode", default: Mode.fast) == .slow)
        #expect(try settings.strings("list") == ["a", "b"])
        #expect(try settings.string("none", default: "d") == "d")
        let fallback = try Endpoint("https://example.com")
        let main = try settings.section("endpoints") { section throws(ExperimentationError) in
            try section.endpoint("main", default: fallback)
        }
        #expect(main.description == "http://127.0.0.1:1/v2")
        let missing = try settings.section("missing") { section throws(ExperimentationError) in
            try section.endpoint("main", default: fallback)
        }
        #expect(missing == fallback)
        try settings.finish()
    }

    @Test(
        "an error names the file, the key and what was expected, and no value",
        arguments: [
            ("{}", "xp.json: \"id\": missing; expected a text"),
            (#"{"id":41}"#, "xp.json: \"id\": expected a text, found a whole number"),
            (#"{"id":""}"#, "xp.json: \"id\": expected a text, found an empty one"),
            (#"{"id":"x","key":{"env":"MISSING"}}"#, "xp.json: \"key\": the environment variable MISSING isn't set"),
            (#"{"id":"x","key":{"env":"EMPTY"}}"#, "xp.json: \"key\": the environment variable EMPTY isn't set"),
            (
                #"{"id":"x","key":{"file":"canary"}}"#,
                #"xp.json: "key": expected a text or {"env": "NAME"}, found an object"#
            ),
            (#"{"id":"x","key":"k","count":9}"#, "xp.json: \"count\": expected a whole number from 1 to 5"),
            (#"{"id":"x","key":"k","count":1.5}"#, "xp.json: \"count\": expected a whole number, found a number"),
            (#"{"id":"x","key":"k","count":true}"#, "xp.json: \"count\": expected a whole number, found true or false"),
            (
                #"{"id":"x","key":"k","wait":1e300}"#,
                "xp.json: \"wait\": expected a number of seconds from 0.0 to 31536000.0"
            ),
            (#"{"id":"x","key":"k","mode":"canary"}"#, "xp.json: \"mode\": expected one of fast, slow"),
            (#"{"id":"x","key":"k","list":["a",1]}"#, "xp.json: \"list[1]\": expected a text, found a whole number"),
            (
                #"{"id":"x","key":"k","endpoints":{"main":"http://example.com"}}"#,
                "xp.json: \"endpoints.main\": plain http is for loopback only; use https for example.com"
            ),
            (
                #"{"id":"x","key":"k","endpoints":{"mian":"x"}}"#,
                "xp.json: \"endpoints.mian\": no such setting; there are main"
            ),
            (#"{"id":"x","key":"k","endpoints":[]}"#, "xp.json: \"endpoints\": expected an object, found a list"),
            (
                #"{"id":"x","key":"k","zzz":"canary"}"#,
                "xp.json: \"zzz\": no such setting; there are count, endpoints, id, key, list, mode, wait"
            ),
            (#"{"id":"x",}"#, "xp.json: line 1, column 11: expected a name in quotes"),
            ("[]", "xp.json: expected an object, found a list"),
            (String(repeating: #"{"a":"#, count: 100), "xp.json: line 1, column 321: more than 64 levels of nesting"),
        ]
    )
    func errors(text: String, message: String) {
        let error = #expect(throws: ExperimentationError.self) {
            var settings = try reader(text)
            _ = try settings.string("id")
            _ = try settings.secret("key")
            _ = try settings.int("count", default: 1, in: 1...5)
            _ = try settings.seconds("wait", default: .zero)
            _ = try settings.choice("mode", default: Mode.fast)
            _ = try settings.strings("list")
            _ = try settings.section("endpoints") { section throws(ExperimentationError) in
                try section.optionalEndpoint("main")
            }
            try settings.finish()
        }
        #expect(error?.code == .configuration)
        #expect(error?.message == message)
    }
}

@Suite("Secrets")
struct SecretTests {
    private struct Holder {
        var name = "n"
        var key: Secret = "canary"
        var keys: [String: Secret?] = ["a": "canary"]
    }

    @Test("P47 printing never shows a secret")
    func prints() {
        let secret: Secret = "canary"
        var dumped = ""
        dump(Holder(), to: &dumped)
        dump(secret, to: &dumped)
        let printed = [
            "\(secret)", secret.description, secret.debugDescription, String(describing: secret),
            String(reflecting: secret), "\(Holder())",
            String(reflecting: Holder()), "\([secret])", "\(Optional(secret) as Any)", dumped,
            "\(Mirror(reflecting: secret).children.map { "\($0)" })",
        ]
        for text in printed { #expect(!text.contains("canary")) }
        #expect(dumped.contains("<secret>"))
        #expect(secret.reveal() == "canary")
        #expect(secret == Secret("canary"))
        #expect(secret != Secret("other"))
        #expect(Secret("").isEmpty && !secret.isEmpty)
    }
}
