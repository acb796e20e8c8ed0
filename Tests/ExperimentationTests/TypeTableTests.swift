import Experimentation
import ExperimentationTesting
import Testing
import Waiting

@Suite("Types are exact, and ids are bytes")
struct TypeTableTests {
    /// A value and the result of each getter; `nil` is a type mismatch.
    struct Row: Sendable {
        var value: FlagValue
        var bool: Bool?
        var int: Int?
        var double: Double?
        var string: String?
        var isObject = false
    }

    static let rows: [Row] = [
        Row(value: true, bool: true), Row(value: false, bool: false),
        Row(value: 0, int: 0, double: 0), Row(value: 1, int: 1, double: 1), Row(value: -1, int: -1, double: -1),
        Row(value: 41, int: 41, double: 41), Row(value: 2_147_483_648, int: 2_147_483_648, double: 2_147_483_648),
        Row(value: 9_007_199_254_740_991, int: 9_007_199_254_740_991, double: 9_007_199_254_740_991),
        Row(value: 9_007_199_254_740_992, int: 9_007_199_254_740_992, double: 9_007_199_254_740_992),
        Row(value: 9_007_199_254_740_993, int: 9_007_199_254_740_993),
        Row(value: -9_007_199_254_740_993, int: -9_007_199_254_740_993),
        Row(value: .int(.max), int: .max), Row(value: .int(.min), int: .min, double: -9.223372036854775808e18),
        Row(value: 1.0, int: 1, double: 1), Row(value: -1.0, int: -1, double: -1), Row(value: 0.0, int: 0, double: 0),
        Row(value: -0.0, int: 0, double: 0), Row(value: 0.5, double: 0.5), Row(value: 1.5, double: 1.5),
        Row(value: -2.25, double: -2.25),
        Row(value: 9.007199254740992e15, int: 9_007_199_254_740_992, double: 9.007199254740992e15),
        Row(value: 9.223372036854774784e18, int: 9_223_372_036_854_774_784, double: 9.223372036854774784e18),
        Row(value: 9.223372036854775808e18, double: 9.223372036854775808e18),
        Row(value: -9.223372036854775808e18, int: .min, double: -9.223372036854775808e18),
        Row(value: 1e308, double: 1e308), Row(value: -1e308, double: -1e308),
        Row(value: .double(.leastNonzeroMagnitude), double: .leastNonzeroMagnitude), Row(value: 1e-300, double: 1e-300),
        Row(value: "", string: ""), Row(value: "x", string: "x"), Row(value: "true", string: "true"),
        Row(value: "1", string: "1"), Row(value: "1.0", string: "1.0"), Row(value: "null", string: "null"),
        Row(value: "é😀", string: "é😀"), Row(value: [], isObject: true), Row(value: [1, 2], isObject: true),
        Row(value: [:], isObject: true), Row(value: ["a": 1], isObject: true),
        Row(value: [["a": [true]]], isObject: true),
    ]

    @Test("P39 each getter reads the right values, and a Boolean is never a number")
    func getters() async throws {
        #expect(Self.rows.count == 40)
        let flags = Self.rows.enumerated().map { InMemoryFlag("f\($0)", $1.value) }
        let client = try await ExperimentationClient(provider: InMemoryProvider(flags: flags, needsConsent: false))
        let session = client.session(for: User(id: "ada"))
        try await session.refresh()
        for (number, row) in Self.rows.enumerated() {
            let key = "f\(number)"
            func expect<Value: Equatable>(_ details: EvaluationDetails<Value>, _ value: Value?, _ fallback: Value) {
                #expect(details.errorCode == (value == nil ? .typeMismatch : nil), "\(row.value) as \(Value.self)")
                #expect(details.value == value ?? fallback, "\(row.value) as \(Value.self)")
                #expect((details.reason == .error) == (value == nil))
            }
            for fallback in [true, false] { expect(session.details(key, default: fallback), row.bool, fallback) }
            expect(session.details(key, default: 77), row.int, 77)
            expect(session.details(key, default: 77.5), row.double, 77.5)
            expect(session.details(key, default: "none"), row.string, "none")
            expect(session.details(key, default: FlagValue.null), row.isObject ? .some(row.value) : .none, .null)
            #expect(session.bool(key, default: true) == (row.bool ?? true))
            #expect(session.int(key, default: 77) == (row.int ?? 77))
            #expect(session.double(key, default: 77.5) == (row.double ?? 77.5))
            #expect(session.string(key, default: "none") == (row.string ?? "none"))
        }
        await client.shutdown()
    }

    @Test(
        "P40 canonically equivalent ids are different users",
        arguments: [("é", "e\u{301}"), ("\u{212b}", "å".uppercased()), ("가", "\u{1100}\u{1161}")]
    )
    func twoUsers(one: String, other: String) async throws {
        #expect(one == other && !one.utf8.elementsEqual(other.utf8))
        #expect(Identity(id: one) != Identity(id: other) && User(id: one) != User(id: other))
        #expect(Identity(id: "a", anonymousID: one) != Identity(id: "a", anonymousID: other))
        #expect(Set([one, other].map { User(id: $0) }).count == 2)
        let source = GatedSource()
        source.open()
        let client = try await ExperimentationClient(provider: GatedProvider(source: source))
        for id in [one, other] {
            _ = try await client.decisions(for: User(id: id))
            #expect(client.string("user", default: "", for: User(id: id)).utf8.elementsEqual(id.utf8))
        }
        #expect(client.string("user", default: "", for: User(id: one)).utf8.elementsEqual(one.utf8))
        #expect(source.requests == 2)
    }

    @Test("P40 an id goes to the vendor and back byte by byte, in any normalization form")
    func ids() async throws {
        let pieces = [
            "é", "e\u{301}", "\u{212b}", "å", "ﬁ", "fi", "👩‍👩‍👧", "👩", "\u{200d}", "\u{202e}", "אבג", "عربى", "ı", "İ", "ß",
            "SS",
            " ", "\u{a0}", "\u{feff}", "\0", "a", "A", "%C3%A9", "'", "\"", "\\",
        ]
        let dice = Dice(40)
        let provider = InMemoryProvider(
            flags: [InMemoryFlag("f", variants: ["v": "x"], defaultVariant: "v")],
            batching: BatchPolicy(count: 100_000, largest: 1_000, bytes: .max, interval: .seconds(3_600)),
            needsConsent: false
        )
        let client = try await ExperimentationClient(provider: provider)
        var ids = [String(repeating: "x", count: 4_096)]
        while ids.count < 500 {
            let id = (0...dice.below(5)).map { _ in pieces[dice.below(pieces.count)] }.joined()
            if !ids.contains(where: { $0.utf8.elementsEqual(id.utf8) }) { ids.append(id) }
        }
        for id in ids {
            try await client.session(for: User(id: id)).track(.custom("seen", attributes: ["id": .string(id)]))
        }
        try await eventually("an empty outbox") { try await client.flush().isDone }
        let received = provider.record.delivered
        #expect(received.count == 500)
        #expect(Set(received.map { Array($0.identity.id.utf8) }) == Set(ids.map { Array($0.utf8) }))
        for envelope in received {
            guard case .custom(_, _) = envelope.event.kind, let id = envelope.event.attributes["id"]?.stringValue else {
                Issue.record("another event")
                continue
            }
            #expect(id.utf8.elementsEqual(envelope.identity.id.utf8))
        }
        await client.shutdown()
    }
}
