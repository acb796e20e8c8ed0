import Experimentation

extension ServerCase {
    /// The evaluation context: the targeting key and attributes.
    static let contexts: [ServerCase] =
        [
            taken(
                "context/every-type",
                "attributes of every type are accepted",
                [
                    "text": "a", "whole": 1, "fraction": 0.5, "yes": true, "nothing": .null, "list": [1, "a"],
                    "object": ["a": ["b": 1]],
                ]
            ),
            taken("context/letters", "attributes in any script are accepted", ["né😀": "日本", "": "empty"]),
            taken(
                "context/large-numbers",
                "numbers beyond the safe range are accepted",
                [
                    "whole": .int(9_007_199_254_740_993), "large": .double(1e308), "small": .double(-1e-300),
                ]
            ),
            taken("context/many", "two hundred attributes are accepted", many),
        ]
        + left("missing", "without a context", "{}") + left("null", "with null for a context", #"{"context":null}"#)
        + left("empty", "without a targeting key", #"{"context":{}}"#)
        + left("empty-key", "with an empty targeting key", #"{"context":{"targetingKey":""}}"#)
        + left("null-key", "with null for a targeting key", #"{"context":{"targetingKey":null}}"#)
        + wrong("number", "a context that is a number", #"{"context":7}"#)
        + wrong("list", "a context that is a list", #"{"context":[]}"#)
        + wrong("text", "a context that is a text", #"{"context":"ada"}"#)
        + wrong("key-number", "a targeting key that is a number", #"{"context":{"targetingKey":7}}"#)
        + wrong("key-object", "a targeting key that is an object", #"{"context":{"targetingKey":{"id":"ada"}}}"#)
        + [
            ServerCase(
                "context/long-key",
                "a targeting key of 1,000 characters is accepted, or rejected with an explanation"
            ) { probe in
                let reply = try await probe.ask(.all(["targetingKey": .string(String(repeating: "u", count: 1_000))]))
                probe.expectAnswer(reply, orRefusal: FlagItem.codes, to: "a long targeting key")
            },
            ServerCase("context/odd-key", "a targeting key in any script is accepted") { probe in
                for key in ["é", "😀", " ", "a/b", "\"", "\\", "\u{0}", "a\r\nb"] {
                    let reply = try await probe.ask(.all(["targetingKey": .string(key)]))
                    probe.expectAnswer(reply, orRefusal: FlagItem.codes, to: "an odd targeting key")
                }
            },
            ServerCase("context/attributes-count", "attributes affect the answer, for all flags and for a single one") {
                probe in
                let others = probe.declaration.otherAttributes
                if others.isEmpty { throw probe.skip("no attributes that change the answer are declared") }
                let other = probe.context.merging(others) { $1 }
                let (first, second) = (
                    try await probe.ask(.all(probe.context)), try await probe.ask(.all(other))
                )
                probe.expect(first.byKey != second.byKey, "the same flags whatever the attributes")
                for (key, item) in second.byKey where !item.isFailure && first.byKey[key]?.value != item.value {
                    let alone = try await probe.ask(.one(Ask.encoded(key), other))
                    probe.expect(alone.members["value"] == item.value, "\(key): alone it doesn't see the attributes")
                }
            },
            ServerCase(
                "context/repeated-members",
                "repeated members are accepted or rejected, never a server error"
            ) {
                probe in
                let body = #"{"context":{"targetingKey":"a","targetingKey":"b"},"context":{}}"#
                let reply = try await probe.ask(.saying(body))
                probe.expectAnswer(reply, orRefusal: FlagItem.codes, to: "members said twice")
            },
        ]

    private static let many: [String: FlagValue] = Dictionary(
        uniqueKeysWithValues: (0..<200).map { ("attribute-\($0)", FlagValue.int($0)) }
    )

    private static func taken(_ name: String, _ summary: String, _ attributes: [String: FlagValue]) -> ServerCase {
        ServerCase(name, summary) { probe in
            let reply = try await probe.ask(.all(probe.context.merging(attributes) { $1 }))
            probe.expect(reply, is: 200, to: "such attributes")
        }
    }

    /// A context that a server may evaluate or reject, for whatever reason it sees; one case for all flags, one for a
    /// single flag.
    private static func left(_ name: String, _ summary: String, _ body: String) -> [ServerCase] {
        [
            ServerCase("context/\(name)-all", "all flags \(summary): answered, or rejected as the protocol defines") {
                probe in
                let reply = try await probe.ask(.saying(body))
                probe.expectAnswer(reply, orRefusal: FlagItem.codes, to: summary)
                if reply.status == 400 { probe.expect(reply.members["key"] == nil, "a key where all were asked for") }
            },
            ServerCase("context/\(name)-one", "one flag \(summary): answered, or rejected as the protocol defines") {
                probe in
                let flag = try probe.someFlag()
                let reply = try await probe.ask(.saying(body, to: "\(Ask.flags)/\(Ask.encoded(flag.key))"))
                probe.expectAnswer(reply, orRefusal: FlagItem.codes, key: flag.key, to: summary)
            },
        ]
    }

    /// A context that every server must reject; one case for all flags, one for a single flag.
    private static func wrong(_ name: String, _ summary: String, _ body: String) -> [ServerCase] {
        let codes: Set<String> = ["INVALID_CONTEXT", "PARSE_ERROR", "TARGETING_KEY_MISSING"]
        return [
            ServerCase("context/\(name)-all", "\(summary) is rejected for all flags") { probe in
                probe.expectRefusal(try await probe.ask(.saying(body)), codes: codes, to: summary)
            },
            ServerCase("context/\(name)-one", "\(summary) is rejected for one flag") { probe in
                let flag = try probe.someFlag()
                let reply = try await probe.ask(.saying(body, to: "\(Ask.flags)/\(Ask.encoded(flag.key))"))
                probe.expectRefusal(reply, codes: codes, key: flag.key, to: summary)
            },
        ]
    }
}
