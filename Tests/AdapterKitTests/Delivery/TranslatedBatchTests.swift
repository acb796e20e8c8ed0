import AdapterKit
import Experimentation
import Foundation
import Testing

@Suite("A batch in a vendor's form")
struct TranslatedBatchTests {
    private static func envelopes(_ names: String) -> [Envelope] {
        names.split(separator: " ").map { name in
            Envelope(
                id: String(name),
                identity: Identity(id: "u"),
                event: TrackingEvent(.custom(name: String(name), value: nil)),
                date: Date(timeIntervalSince1970: 0)
            )
        }
    }

    /// Translates every event but those whose name begins with `x`.
    private static func translated(_ names: String) -> TranslatedBatch<String> {
        TranslatedBatch(envelopes(names)) { envelope throws(ExperimentationError) in
            guard !envelope.id.hasPrefix("x") else {
                throw ExperimentationError(.unsupported, "no word for \(envelope.id)")
            }
            return envelope.id.uppercased()
        }
    }

    @Test("events without a form are rejected with the reason, and the others keep their verdicts")
    func mixed() async {
        let report = await Self.translated("a xb c xd").deliver { part in
            #expect(part.events.map(\.id) == ["a", "c"])
            #expect(part.forms == ["A", "C"])
            return DeliveryReport([.delivered, .failed("no")], isDisabled: true)
        }
        #expect(
            report.verdicts(count: 4)
                == [.delivered, .rejected("no word for xb"), .failed("no"), .rejected("no word for xd")]
        )
        #expect(report.isDisabled)
    }

    @Test("nothing is sent for events that have no form, or for an empty batch", arguments: ["xa xb", ""])
    func nothing(names: String) async {
        await confirmation(expectedCount: 0) { sent in
            let report = await Self.translated(names).deliver { _ in
                sent()
                return DeliveryReport(.delivered)
            }
            let reasons = names.split(separator: " ").map { Verdict.rejected("no word for \($0)") }
            #expect(report.verdicts(count: reasons.count) == reasons)
        }
    }

    @Test("one verdict on the whole request applies to each of its events")
    func same() async {
        let report = await Self.translated("xa b c").deliver { _ in DeliveryReport(.split("halves")) }
        #expect(report.verdicts(count: 3) == [.rejected("no word for xa"), .split("halves"), .split("halves")])
    }
}
