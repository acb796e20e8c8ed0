import ConformanceKit
import ConformanceSubjects
import Experimentation
import Testing

@Suite("Expectations of texts")
struct TextBytesTests {
    private static let composed = "Zo\u{EB}"
    private static let decomposed = "Zoe\u{308}"

    private func failures(_ steps: @escaping @Sendable (Probe) -> Void) async -> [String] {
        let conformanceCase = ConformanceCase("texts/bytes", promise: 1, "Bytes", world: .empty) { steps($0) }
        let outcome = await ConformanceRunner().run(conformanceCase, against: InMemorySubject()).outcome
        return outcome.failures.map(\.message)
    }

    @Test("compare bytes, and show a difference that can't be seen")
    func shown() async {
        let messages = await failures { $0.expect(Self.decomposed, equals: Self.composed, "the name") }
        let message = #"the name: expected "Zo\u{00EB}", saw "Zoe\u{0308}", which looks the same and has other bytes"#
        #expect(messages == [message])
    }

    @Test("look into optionals, lists, sets and values")
    func nested() async {
        let messages = await failures { probe in
            probe.expect([Self.decomposed], equals: [Self.composed], "list")
            probe.expect([nil, Self.decomposed], equals: [nil, Self.composed], "list with gaps")
            probe.expect([nil, Self.decomposed] as Set<String?>, equals: [nil, Self.composed], "set")
            probe.expect(FlagValue.string(Self.decomposed), equals: .string(Self.composed), "value")
            let object: FlagValue? = ["names": [.string(Self.decomposed)]]
            probe.expect(object, equals: ["names": [.string(Self.composed)]], "object")
            let members: [String: FlagValue] = [Self.decomposed: 1]
            probe.expect(members, equals: [Self.composed: 1], "members")
        }
        let names = messages.compactMap { $0.split(separator: ":").first.map(String.init) }
        #expect(names == ["list", "list with gaps", "set", "value", "object", "members"])
    }

    @Test("pass where the bytes are the same, in any order of a set")
    func same() async {
        let messages = await failures { probe in
            probe.expect(Self.decomposed, equals: Self.decomposed, "text")
            probe.expect(["a", Self.composed, nil] as Set<String?>, equals: [nil, Self.composed, "a"], "set")
            let object: FlagValue = ["b": .string(Self.composed), "a": .array([1, "x"])]
            probe.expect(object, equals: ["a": .array([1, "x"]), "b": .string(Self.composed)], "object")
            probe.expect(7, equals: 7, "number")
        }
        #expect(messages == [])
    }
}
