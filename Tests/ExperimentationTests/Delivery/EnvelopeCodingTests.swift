import Foundation
import Testing
import Waiting

@testable import Experimentation

@Suite("Envelopes are written as JSONEncoder writes them")
struct EnvelopeCodingTests {
    private static func text(_ dice: Dice) -> String {
        if dice.below(8) > 0 { return ["spun-wheel", "zoë", ""][dice.below(3)] }
        let parts = [
            "a", "zoë", "e\u{301}", "\"", "\\", "/", "\n", "\r\n", "\t", "\u{8}", "\u{c}", "\u{0}", "\u{1f}", "\u{7f}",
            "\u{2028}", "\u{1F469}\u{200D}\u{1F680}", "0", " ", "</script>",
        ]
        return (0..<dice.below(5)).map { _ in parts[dice.below(parts.count)] }.joined()
    }

    private static let doubles = [
        0.5, -1.25, 1e300, 1e-300, 3, 0, -0.0, 1e15, 1e16, 1e17, 1e18, 9.3e18, -9.3e18, 1.5e19, 1e22,
        123_456_789.123_456_78,
        9_007_199_254_740_992, 9_007_199_254_740_994, 0.1, 0.000_1, 0.000_01, 1e-5, .leastNonzeroMagnitude,
        .greatestFiniteMagnitude, -.greatestFiniteMagnitude, .pi, 1 / 3, 4_503_599_627_370_495.5,
    ]

    private static func double(_ dice: Dice) -> Double {
        if dice.below(3) > 0 { return doubles[dice.below(doubles.count)] }
        // Any finite bit pattern.
        let number = Double(bitPattern: UInt64(bitPattern: Int64(dice.below(.max))) << 1 | UInt64(dice.below(2)))
        return number.isFinite ? number : dice.fraction()
    }

    private static func value(_ dice: Dice, _ depth: Int) -> FlagValue {
        switch dice.below(depth > 3 ? 5 : 7) {
        case 0: return .null
        case 1: return .bool(dice.below(2) == 0)
        case 2: return .int([0, -1, .max, .min, 42, 999_999_999_999_999_999][dice.below(6)])
        case 3: return .double(double(dice))
        case 4: return .string(text(dice))
        case 5: return .array((0..<dice.below(3)).map { _ in value(dice, depth + 1) })
        default: return .object(object(dice, depth + 1))
        }
    }

    private static func object(_ dice: Dice, _ depth: Int) -> [String: FlagValue] {
        let names = [
            "a", "A", "B", "b1", "b10", "b2", "_", "-", "a b", "a-b", "aB", "\u{7F}", "z", "", "é", "e\u{301}z",
            "\u{10FFFF}",
            "\u{FB01}", "ß", "z\u{301}",
        ]
        return Dictionary(
            (0..<dice.below(4)).map { _ in (names[dice.below(names.count)], value(dice, depth)) },
            uniquingKeysWith: { $1 }
        )
    }

    private static func exposure(_ dice: Dice) -> Exposure {
        func maybe<Value>(_ value: Value) -> Value? { dice.below(3) > 0 ? value : nil }
        let origins: [Assignment.Origin] = [.allocated, .sticky, .forcedByVendor, .forcedHere]
        let isFlat = dice.below(3) > 0
        return Exposure(
            assignment: Assignment(
                experiment: Experiment(id: text(dice), name: text(dice), kind: maybe(text(dice))),
                group: text(dice),
                variation: Variation(id: text(dice), name: text(dice), isControl: dice.below(2) == 0),
                isHoldout: dice.below(2) == 0,
                origin: origins[dice.below(origins.count)],
                metadata: isFlat ? ["provider": .string(text(dice))] : object(dice, 0)
            ),
            flagKey: maybe(text(dice)),
            value: maybe(isFlat ? value(dice, 4) : value(dice, 0)),
            defaultValue: maybe(isFlat ? value(dice, 4) : value(dice, 0))
        )
    }

    private static func envelope(_ dice: Dice) -> Envelope {
        let kinds: [TrackingEvent.Kind] = [
            .custom(name: text(dice), value: nil), .custom(name: text(dice), value: 2),
            .custom(name: text(dice), value: double(dice)), .screenView(name: text(dice)), .pageView(url: text(dice)),
            .goalCompleted(name: text(dice)), .goalAbandoned(name: text(dice)), .viewItem(nil), .installed,
            .sessionStarted, .sessionEnded(seconds: double(dice)), .consentChanged(granted: dice.below(2) == 0),
            .purchase(Order(id: text(dice), total: 9.99)),
            .native(NativeEvent(type: text(dice), payload: object(dice, 0))), .exposure(exposure(dice)),
            .exposure(exposure(dice)),
        ]
        return Envelope(
            id: text(dice),
            sequence: Int64(dice.below(1_000)),
            identity: Identity(
                id: text(dice),
                anonymousID: dice.below(2) == 0 ? nil : text(dice),
                isAuthenticated: dice.below(2) == 0
            ),
            session: text(dice),
            surface: dice.below(2) == 0 ? nil : text(dice),
            campaignTargets: dice.below(2) == 0 ? nil : (0..<dice.below(3)).map { _ in text(dice) },
            event: TrackingEvent(kinds[dice.below(kinds.count)], attributes: Attributes(object(dice, 0))),
            date: Date(timeIntervalSince1970: Double(dice.below(2_000_000_000)) + dice.fraction()),
            attributeChanges: Attributes(object(dice, 0)),
            attempts: dice.below(3)
        )
    }

    @Test("P26 any event is encoded exactly as by JSONEncoder, and decoded as by JSONDecoder")
    func equality() throws {
        let decoder = JSONDecoder()
        decoder.dateDecodingStrategy = .secondsSince1970
        var quick = 0
        var quickExposures = 0
        for seed in 0..<(isSoak ? 20_000 : 2_000) {
            let envelope = Self.envelope(Dice(seed))
            let written = try EnvelopeCoding.encode(envelope)
            let expected = try EnvelopeCoding.encoder().encode(envelope)
            #expect(written == Array(expected), "seed \(seed): \(String(decoding: written, as: UTF8.self))")
            let read = try EnvelopeCoding.decode(written)
            let decoded = try decoder.decode(Envelope.self, from: expected)
            #expect(read == decoded, "seed \(seed): \(String(decoding: written, as: UTF8.self))")
            if let envelope = EnvelopeReader.read(written[...]) {
                quick += 1
                if case .exposure = envelope.event.kind { quickExposures += 1 }
            }
            // The limit is in bytes, not characters.
            #expect(throws: ExperimentationError.self) { try EnvelopeCoding.encode(envelope, limit: written.count - 1) }
            #expect(try EnvelopeCoding.encode(envelope, limit: written.count) == written)
        }
        #expect(quick > 100 && quickExposures > 50)
    }

    @Test("strings with escapes and the longest numbers are read without the decoder, with its results")
    func escapes() throws {
        let text = "\"\\/\u{8}\u{c}\n\r\t\0\u{1f}\u{7f}é😀"
        let envelope = Envelope(
            id: text,
            identity: Identity(id: text, anonymousID: text),
            session: text,
            event: .custom(
                text,
                value: -0.0,
                attributes: [text: [.string(text), .int(.max), .int(.min), 0.25, .null, false, [:], []]]
            ),
            date: Date(timeIntervalSince1970: 1_795_262_400.5),
            attributeChanges: [text: .string(text)]
        )
        let written = try EnvelopeCoding.encode(envelope)
        let decoder = JSONDecoder()
        decoder.dateDecodingStrategy = .secondsSince1970
        #expect(EnvelopeReader.read(written[...]) == envelope)
        #expect(try decoder.decode(Envelope.self, from: Data(written)) == envelope)
        // The same with everything escaped that may be.
        let escaped = String(decoding: written, as: UTF8.self).replacing("é", with: #"\u00e9"#)
            .replacing("😀", with: #"\ud83d\uDE00"#).replacing("/", with: #"\/"#)
        #expect(EnvelopeReader.read(Array(escaped.utf8)[...]) == envelope)
        #expect(try decoder.decode(Envelope.self, from: Data(escaped.utf8)) == envelope)
    }

    @Test("an event shares a text with the one before it only if both texts are equal, byte by byte")
    func sharedTexts() throws {
        // Characters that are written as escapes, that look like them, and that Unicode calls equal.
        let texts = [
            "", "ada", "adb", "ad", "a\\u0064a", "a\"da", "é", "e\u{301}", "ada\n", "ada\\n", "6E1B8F0A-3A5D-4E63-9F5C",
        ]
        var former = FormerTexts()
        for first in texts {
            for second in texts {
                for (user, session) in [(first, second), (second, first)] {
                    let envelope = Envelope(
                        id: "e-1",
                        identity: Identity(id: user),
                        session: session,
                        event: .custom("spun"),
                        date: Date(timeIntervalSince1970: 1)
                    )
                    let written = try EnvelopeCoding.encode(envelope)
                    let read = try EnvelopeCoding.decode(written[...], after: &former)
                    #expect(Array(read.identity.id.utf8) == Array(user.utf8))
                    #expect(Array(read.session.utf8) == Array(session.utf8))
                }
            }
        }
    }

    @Test("input that the decoder reads differently is left to it")
    func decodersOwn() throws {
        let written = try EnvelopeCoding.encode(
            Envelope(
                id: "e-1",
                identity: Identity(id: "ada"),
                event: .custom("spun", attributes: ["a": 0.5]),
                date: Date(timeIntervalSince1970: 1)
            )
        )
        let text = String(decoding: written, as: UTF8.self)
        #expect(EnvelopeReader.read(written[...]) != nil)
        let others = ["2.0", "1e3", "-0", "1.5e3", "12345678901234567890", "[1,2.0]", #"{"b":1,"b":2}"#, #""\ud800""#]
        for other in others + [" 1", "1e400", String(repeating: "[", count: 17) + String(repeating: "]", count: 17)] {
            let bytes = Array(text.replacing("0.5", with: other).utf8)
            #expect(EnvelopeReader.read(bytes[...]) == nil, "\(other)")
        }
        let whole = try EnvelopeCoding.decode(Array(text.replacing("0.5", with: "2.0").utf8))
        #expect(whole.event.attributes["a"] == .int(2))
    }

    @Test("incomplete input is rejected, wherever it ends and whichever byte is wrong")
    func damage() throws {
        var envelope = Envelope(
            id: "e-1",
            identity: Identity(id: "ada"),
            event: .custom("spun", value: 2.5, attributes: ["a": ["b": [1, true, .null]]]),
            date: Date(timeIntervalSince1970: 1_795_262_400.25)
        )
        envelope.surface = "home"
        let written = try EnvelopeCoding.encode(envelope)
        #expect(EnvelopeReader.read(written[...]) == envelope)
        for end in written.indices {
            #expect(EnvelopeReader.read(written[..<end]) == nil)
            #expect(throws: ExperimentationError.self) { try EnvelopeCoding.decode(Array(written[..<end])) }
        }
        #expect(EnvelopeReader.read((written + [0x7D])[...]) == nil)
        let decoder = JSONDecoder()
        decoder.dateDecodingStrategy = .secondsSince1970
        for index in written.indices {
            for byte: UInt8 in [0x00, 0x22, 0x30, 0x5C, 0x2D, 0x7B, 0x80, 0xFF, 0x2E] {
                var damaged = written
                damaged[index] = byte
                // Whatever the fast reader accepts, the decoder accepts with the same result.
                guard let read = EnvelopeReader.read(damaged[...]) else { continue }
                #expect(read == (try? decoder.decode(Envelope.self, from: Data(damaged))), "byte \(index)")
            }
        }
    }
}
