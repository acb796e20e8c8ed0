import AdapterKit
import Experimentation
import ExperimentationTesting
import Foundation
import HTTPTypes
import NIOCore
import Synchronization
import Testing

@testable import GatewayServer

/// One of several instances: the same vendor, and rules of an age of its own.
private final class OneOfSeveral: ExperimentationProvider, RulesetSource {
    let vendor: ChangingVendor
    private let disabled = Mutex<Int64>(0)

    init(_ vendor: ChangingVendor) { self.vendor = vendor }

    var name: String { vendor.name }
    var scope: String { vendor.scope }
    var capabilities: Set<Capability> { vendor.capabilities }
    var freshness: Freshness { vendor.freshness }
    /// The revision with which it last learned that the vendor is disabled.
    var disabledRevision: Int64 { disabled.withLock { $0 } }

    func start(in context: ProviderContext) async throws(ExperimentationError) -> ProviderRoles {
        ProviderRoles(decisions: .computed(self))
    }

    func ruleset(ifNot validator: String?) async throws(ExperimentationError) -> RulesetAnswer {
        let answer = try await vendor.ruleset(ifNot: validator)
        if case .disabled = answer { disabled.withLock { $0 = vendor.revision } }
        return answer
    }

    func ruleset(restoring raw: [UInt8]) throws(ExperimentationError) -> any Ruleset {
        try vendor.ruleset(restoring: raw)
    }
}

@Suite("Tags over several instances")
struct MonotonicTests {
    /// How many steps the model takes: all of them in a soak run.
    private static let steps = isSoak ? 1_000_000 : 20_000
    private static let body = ByteBuffer(string: #"{"context":{"targetingKey":"ada"}}"#)

    /// An instance whose evaluator is asked without a network.
    private struct Bench {
        let provider: OneOfSeveral
        let gateway: Gateway
        let evaluator: Evaluator

        init(_ vendor: ChangingVendor, _ time: ManualTime) async throws {
            let provider = OneOfSeveral(vendor)
            gateway = try await Gateway(
                GatewayConfiguration(tenants: [Served.tenant()]),
                environment: ClientEnvironment(time: time)
            ) { _ in provider }
            let connection = gateway.responder.tenants.tenants[0].connection
            evaluator = Evaluator(
                connection.client,
                facts: connection.facts,
                assignments: nil,
                types: DeclaredTypes(),
                exposures: .none,
                frame: BulkFrame(metadata: [:]),
                revisions: Evaluator.Revisions { provider.disabledRevision }
            )
            self.provider = provider
        }

        /// Asks as a connection does: at once if possible.
        func ask(
            _ tag: String?,
            announced: Int64? = nil
        ) async throws -> (status: Int, tag: String, body: String) {
            let body = MonotonicTests.body
            if let tag, let answer = evaluator.unchangedAtOnce(body, ifNoneMatch: tag, announced: announced) {
                return (answer.status.code, answer.tag ?? "", "")
            }
            let user = User(id: "ada")
            if let answer = evaluator.evaluateAllAtOnce(user, body, ifNoneMatch: tag, announced: announced) {
                return (answer.status.code, answer.tag ?? "", answer.body.map { String(buffer: $0) } ?? "")
            }
            let answer = try await evaluator.evaluation(for: user, ifNoneMatch: tag, announced: announced)
            return (answer.status.code, answer.tag ?? "", answer.body.map { String(buffer: $0) } ?? "")
        }
    }

    /// A small random source with the same numbers in each run.
    private struct Numbers: RandomNumberGenerator {
        var state: UInt64
        mutating func next() -> UInt64 {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return state ^ state >> 33
        }
    }

    @Test("whichever of three instances is asked, no client gets older flags than before, and no 200 is needless")
    func model() async throws {
        let (vendor, time) = (ChangingVendor(validFor: .seconds(3_600)), ManualTime())
        var benches: [Bench] = []
        for _ in 0..<3 { benches.append(try await Bench(vendor, time)) }
        var numbers = Numbers(state: 5)
        // What the client holds: the tag, the revision of its flags, and whether they are disabled.
        var held: (tag: String, revision: Int64, isDisabled: Bool)?
        var (older, needless, unchanged, behind) = (0, 0, 0, 0)
        for step in 0..<Self.steps {
            switch Int.random(in: 0..<24, using: &numbers) {
            // The value says which revision it is of.
            case 0: vendor.change { $0.value += 1 }
            case 1:
                vendor.change { world in
                    world.value += 1
                    world.isDisabled.toggle()
                }
            case 2...5:
                let bench = benches[Int.random(in: 0..<3, using: &numbers)]
                try? await bench.evaluator.client.refresh(force: true)
            // A new client holds nothing.
            case 6: held = nil
            default: break
            }
            let bench = benches[Int.random(in: 0..<3, using: &numbers)]
            let before = try await bench.evaluator.client.decisions(for: User(id: "ada"))
            if let held, let value = before["value"]?.value.intValue, value < held.revision { behind += 1 }
            let answer = try await bench.ask(held?.tag)
            if answer.status == 304 {
                unchanged += 1
                continue
            }
            let value = answer.body.firstMatch(of: /"value":([0-9]+),"variant":"v"/).flatMap { Int64($0.output.1) }
            // Without values the kill switch is on; the revision is the one that this instance learned of.
            let now = (revision: value ?? bench.provider.disabledRevision, isDisabled: value == nil)
            if let held {
                if now.revision < held.revision { older += 1 }
                if now == (held.revision, held.isDisabled) { needless += 1 }
            }
            held = (answer.tag, now.revision, now.isDisabled)
            #expect(older == 0 && needless == 0, "step \(step)")
            if older + needless > 0 { break }
        }
        #expect(unchanged > Self.steps / 4)
        #expect(behind > Self.steps / 500)
        for bench in benches { await bench.gateway.responder.tenants.tenants[0].connection.close() }
    }

    @Test("a client that one instance notified of a change gets it from another that hasn't heard of it yet")
    func announced() async throws {
        let (vendor, time) = (ChangingVendor(validFor: .seconds(3_600)), ManualTime())
        let (teller, behind) = (try await Bench(vendor, time), try await Bench(vendor, time))
        let old = try await behind.ask(nil)
        #expect(try await behind.ask(old.tag).status == 304)
        vendor.change { $0.value = 1 }
        try await teller.evaluator.client.refresh(force: true)
        let revision = vendor.revision
        // Without the event's revision, the other instance's answer is current.
        #expect(try await behind.ask(old.tag).status == 304)
        let answer = try await behind.ask(old.tag, announced: revision)
        #expect(answer.status == 200)
        #expect(answer.body.contains(#""value":1"#), "\(answer.body)")
        // The announced revision matches no answer that the client has.
        #expect(try await behind.ask(nil, announced: revision).status == 200)
        #expect(try await behind.ask(answer.tag, announced: revision).status == 304)
        vendor.change { $0.isDisabled = true }
        try? await teller.evaluator.client.refresh(force: true)
        #expect(try await behind.ask(answer.tag).status == 304)
        #expect(try await behind.ask(answer.tag, announced: vendor.revision).body.contains("DISABLED"))
        for bench in [teller, behind] { await bench.gateway.responder.tenants.tenants[0].connection.close() }
    }

    @Test("a tag names the same answer whatever its revision, and the greatest revision of a list counts")
    func revisions() {
        let tag = EntityTag(frame: EntityTag.Mark(of: [1]), items: [])
        let bare = String(tag.text.dropFirst().dropLast())
        #expect(tag.text(at: 7) == "\"\(bare).7\"")
        #expect(tag.text(at: nil) == tag.text)
        for field in ["\"\(bare).7\"", "W/\"\(bare).8\"", "\(bare).0", "\"x.9\", \"\(bare)\""] {
            #expect(tag.isNamed(in: field), "\(field)")
            #expect(EntityTag.isNamed(tag.text(at: 3), in: field), "\(field)")
        }
        for field in ["\"\(bare).\"", "\"\(bare).x\"", "\"\(bare).-1\"", "\"\(bare).7.7\"", "\"\(bare).+7\""] {
            #expect(!tag.isNamed(in: field), "\(field)")
        }
        #expect(EntityTag.revision(in: "\"\(bare).7\", W/\"x.12\" ,y.9") == 12)
        for field in ["", "*", "\"\(bare)\"", "\"a.b\"", "\"a.\"", "\"a.99999999999999999999\""] {
            #expect(EntityTag.revision(in: field) == nil, "\(field)")
        }
    }
}
