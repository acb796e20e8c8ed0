import Experimentation
import FlagManifest
import Foundation
import HTTPTypes
import NIOCore
import Testing

@testable import GatewayServer

@Suite("Entity tags")
struct EntityTagTests {
    private static let tag = EntityTag(frame: EntityTag.Mark(of: [1]), items: [EntityTag.Mark(of: [2])])
    private static var bare: String { String(tag.text.dropFirst().dropLast()) }

    @Test("If-None-Match matches a tag in every form that clients and proxies send")
    func named() {
        let (text, bare) = (Self.tag.text, Self.bare)
        for field in [text, bare, "W/\(text)", "W/\(bare)", "\"x\", \(text)", "\"x\",W/\(text) , \"y\"", "\t\(text) "] {
            #expect(Self.tag.isNamed(in: field), "\(field)")
        }
        for field in ["", "*", "\"\"", "\"\(bare)", "\(bare)x", "\"W/\(bare)\"", "\(bare) \(bare)", "\"x\""] {
            #expect(!Self.tag.isNamed(in: field), "\(field)")
        }
    }

    @Test("equal answers have equal tags in every process")
    func stable() {
        // Two digests' first halves, added word by word.
        #expect(Self.tag.text == "\"27b6c6f83545395293398c61530abbe4\"")
    }

    /// A small random source with the same numbers in each run.
    private struct Numbers: RandomNumberGenerator {
        var state: UInt64
        mutating func next() -> UInt64 {
            state &+= 0x9E37_79B9_7F4A_7C15
            var mixed = (state ^ state >> 30) &* 0xBF58_476D_1CE4_E5B9
            mixed = (mixed ^ mixed >> 27) &* 0x94D0_49BB_1331_11EB
            return mixed ^ mixed >> 31
        }
    }

    /// How many steps the model takes: all of them in a soak run.
    private static let steps = ProcessInfo.processInfo.environment["SOAK"] == "1" ? 1_000_000 : 20_000

    @Test("no 304 is wrong and no 200 is needless, across configurations, contexts, orders and instances")
    func model() {
        var numbers = Numbers(state: 7)
        let frame = BulkFrame(metadata: ["provider": "test"])
        let keys = (0..<6).map { "flag-\($0)" }
        let values: [FlagValue] = [true, "a", "b", 1, 1.0, .null, ["x": 1]]
        func catalogue() -> FlagCatalogue {
            FlagCatalogue(
                flags: keys.shuffled(using: &numbers).map { key in
                    FlagCatalogue.Flag(
                        key,
                        outcomes: (0..<3).map { _ in
                            Resolution(values.randomElement(using: &numbers) ?? true, variant: "v", reason: .split)
                        }
                    )
                }
            )
        }
        // Two instances, each with rules of its own age; what the client holds is a body and its tag.
        var instances = (0..<2).map { _ in FlagForms(catalogue(), types: DeclaredTypes()) }
        var held: (tag: String, items: Set<ByteBuffer>)?
        var (wrong, needless, unchanged) = (0, 0, 0)
        for _ in 0..<Self.steps {
            switch Int.random(in: 0..<20, using: &numbers) {
            case 0: instances[Int.random(in: 0..<2, using: &numbers)] = FlagForms(catalogue(), types: DeclaredTypes())
            case 1: instances[0] = FlagForms(instances[1].catalogue, types: DeclaredTypes())
            default: break
            }
            let forms = instances[Int.random(in: 0..<2, using: &numbers)]
            let outcomes = keys.indices.map { _ in
                [0, 0, 0, 1, 2, nil].randomElement(using: &numbers) ?? nil
            }
            let items = forms.chosen(by: Decisions(catalogue: forms.catalogue, outcomes: outcomes))
            let texts = Set(items.map(\.text))
            let answer = frame.answer(items, ifNoneMatch: held?.tag)
            let isSame = held?.items == texts
            if answer.status == .notModified {
                unchanged += 1
                if !isSame { wrong += 1 }
            } else {
                if isSame { needless += 1 }
                held = (answer.tag ?? "", texts)
            }
        }
        #expect((wrong, needless) == (0, 0))
        #expect(unchanged > 0)
    }
}
