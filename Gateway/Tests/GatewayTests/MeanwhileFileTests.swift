import Experimentation
import ExperimentationTesting
import Foundation
import GatewayBodies
import GatewayWaiting
import HTTPTypes
import Testing

@testable import GatewayServer

@Suite("The file for events and assignments accepted while the database is away")
struct MeanwhileFileTests {
    /// A file with room for so many bytes, and the database that it waits for.
    private static func opened(bytes: Int, isAway: Shared<Bool>) async throws -> Meanwhile {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("meanwhile-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        return try await Meanwhile(
            file: folder.appendingPathComponent("m.sqlite"),
            scope: "s",
            bytes: bytes,
            environment: ClientEnvironment(),
            database: DatabaseSight { isAway.value }
        )
    }

    private static func event(_ number: Int) -> EventRequest {
        let user = User(id: "u\(number % 7)", consent: .granted)
        let event = TrackingEvent.custom("x", attributes: ["text": .string(String(repeating: "x", count: 5_000))])
        return EventRequest(id: "\(number)", user: user, isConsentStated: true, event: event, date: nil)
    }

    /// A vendor with one experiment, which delivers nothing soon.
    private static func experimenter() -> InMemoryProvider {
        InMemoryProvider(
            experiments: [
                InMemoryExperiment(
                    Experiment(id: "button"),
                    arms: [.init(Variation(id: "blue"), weight: 100, flags: ["button": "blue"])]
                )
            ],
            freshness: Freshness(lifetime: .seconds(3_600)),
            batching: BatchPolicy(count: 1_000, interval: .seconds(3_600))
        )
    }

    private static func evaluator(_ client: ExperimentationClient, _ meanwhile: Meanwhile) -> Evaluator {
        Evaluator(
            client,
            facts: ObservedProvider.Facts(),
            meanwhile: meanwhile,
            assignments: nil,
            types: DeclaredTypes(),
            exposures: .single,
            frame: BulkFrame(metadata: [:])
        )
    }

    private static func record(_ number: Int) -> AssignmentRecord {
        AssignmentRecord(userID: "u\(number)", assignments: EarlierAssignments(["e": "v"]))
    }

    /// Hands over waiting events, and references the file, as a tenant's connection does.
    private final class Carrier: Sendable {
        let meanwhile: Meanwhile

        init(_ meanwhile: Meanwhile) { self.meanwhile = meanwhile }

        func hand(_ parcels: [Parcel]) -> [Verdict] { Array(repeating: .outage(), count: parcels.count) }
    }

    @Test("a closed file releases the handler that takes its contents, so that a reload leaves no file open")
    func closed() async throws {
        weak var left: Meanwhile?
        do {
            let meanwhile = try await Self.opened(bytes: 1_000_000, isAway: Shared(true))
            let carrier = Carrier(meanwhile)
            meanwhile.hand { carrier.hand($0) }
            await meanwhile.close()
            left = meanwhile
        }
        try await eventually("the file is gone") { left == nil }
    }

    @Test("a full file refuses events, and what it accepted is all handed over")
    func full() async throws {
        let isAway = Shared(true)
        let meanwhile = try await Self.opened(bytes: 1_000_000, isAway: isAway)
        var accepted: Set<String> = []
        var refusal: EventRefusal?
        for number in 0..<400 {
            switch await meanwhile.take(Self.event(number)) {
            case .accepted: accepted.insert("\(number)")
            case .refused(let why): refusal = why
            case .repeated: Issue.record("\(number) was never taken before")
            }
        }
        #expect(accepted.count > 100)
        #expect(refusal?.code == .outboxFull)
        #expect(refusal?.mayPass == true)
        // No caller waits for an answer about these, so they are counted.
        for number in 0..<3_000 { await meanwhile.take(Self.record(number)) }
        #expect(meanwhile.dropped > 0)
        let handed = Shared<Set<String>>([])
        meanwhile.hand { parcels in
            for case .event(let event) in parcels { handed.change { _ = $0.insert(event.id) } }
            return Array(repeating: .delivered, count: parcels.count)
        }
        isAway.change { $0 = false }
        try await eventually("everything is handed over", within: .seconds(60)) {
            await meanwhile.look()
            return meanwhile.count == 0
        }
        #expect(handed.value == accepted)
        isAway.change { $0 = true }
        #expect(await meanwhile.take(Self.event(1_000)) == .accepted)
        await meanwhile.close()
    }

    @Test("while the database is away, a user's exposure goes into the file once, and never if the user denies consent")
    func exposures() async throws {
        let isAway = Shared(true)
        let meanwhile = try await Self.opened(bytes: 1_000_000, isAway: isAway)
        let client = try await ExperimentationClient(provider: Self.experimenter())
        let evaluator = Self.evaluator(client, meanwhile)
        func request(_ user: String, _ consent: Consent = .granted) -> EvaluationRequest {
            EvaluationRequest(user: User(id: user, consent: consent), isConsentStated: true)
        }
        for user in ["ada", "bob", "ada"] {
            let answer = await evaluator.evaluate("button", request(user))
            #expect(answer.status == .ok)
            #expect(evaluator.evaluateAtOnce("button", request(user)) == nil)
        }
        _ = await evaluator.evaluate("button", request("eve", .denied))
        #expect(meanwhile.count == 2)
        let handed = Shared<[String]>([])
        meanwhile.hand { parcels in
            for case .event(let event) in parcels {
                guard case .exposure(let exposure) = event.event.kind else { continue }
                handed.change { $0.append("\(event.user.id) \(exposure.assignment.variation.id)") }
            }
            return Array(repeating: .delivered, count: parcels.count)
        }
        isAway.change { $0 = false }
        try await eventually("everything is handed over", within: .seconds(60)) {
            await meanwhile.look()
            return meanwhile.count == 0
        }
        #expect(handed.value.sorted() == ["ada blue", "bob blue"])
        // With the database there, exposures are the client's.
        _ = await evaluator.evaluate("button", request("cid"))
        #expect(meanwhile.count == 0)
        try await client.untilStored()
        #expect(try await client.waitingEvents().map(\.envelope.identity.id) == ["cid"])
        await client.shutdown(within: .zero)
        await meanwhile.close()
    }

    @Test("until the waiting events are handed over, exposures wait behind them, so that a denial among them counts")
    func exposuresInLine() async throws {
        let isAway = Shared(true)
        let meanwhile = try await Self.opened(bytes: 1_000_000, isAway: isAway)
        let denial = EventRequest(
            id: "no",
            user: User(id: "ada"),
            isConsentStated: false,
            event: TrackingEvent(.consentChanged(granted: false)),
            date: nil
        )
        #expect(await meanwhile.take(denial) == .accepted)
        let client = try await ExperimentationClient(provider: Self.experimenter())
        let evaluator = Self.evaluator(client, meanwhile)
        // The database is back, and the denial has yet to reach it.
        isAway.change { $0 = false }
        for user in ["ada", "bob"] {
            let request = EvaluationRequest(user: User(id: user), isConsentStated: false)
            #expect(await evaluator.evaluate("button", request).status == .ok)
            #expect(evaluator.evaluateAtOnce("button", request) == nil)
        }
        try await client.untilStored()
        #expect(try await client.waitingEvents().map(\.envelope.identity.id) == [])
        // The denial, and bob's exposure.
        #expect(meanwhile.count == 2)
        await client.shutdown(within: .zero)
        await meanwhile.close()
    }

    @Test("an exposure that a denial has kept out is accepted once the user consents")
    func exposureAfterDenial() async throws {
        let meanwhile = try await Self.opened(bytes: 1_000_000, isAway: Shared(true))
        func consent(_ isGranted: Bool) -> EventRequest {
            EventRequest(
                id: isGranted ? "yes" : "no",
                user: User(id: "ada"),
                isConsentStated: false,
                event: TrackingEvent(.consentChanged(granted: isGranted)),
                date: nil
            )
        }
        let exposure = Exposure(
            assignment: Assignment(experiment: Experiment(id: "button"), variation: Variation(id: "blue"))
        )
        #expect(await meanwhile.take(consent(false)) == .accepted)
        await meanwhile.take(exposure, of: User(id: "ada"), isConsentStated: false)
        #expect(meanwhile.count == 1)
        #expect(await meanwhile.take(consent(true)) == .accepted)
        for _ in 0..<2 { await meanwhile.take(exposure, of: User(id: "ada"), isConsentStated: false) }
        #expect(meanwhile.count == 3)
        await meanwhile.close()
    }

    @Test("equal assignments of a user are accepted once")
    func assignments() async throws {
        let meanwhile = try await Self.opened(bytes: 1_000_000, isAway: Shared(true))
        for _ in 0..<5 { await meanwhile.take(Self.record(1)) }
        await meanwhile.take(AssignmentRecord(userID: "u1", assignments: EarlierAssignments(["e": "w"])))
        #expect(meanwhile.count == 2)
        await meanwhile.close()
    }

    @Test("assignments and an exposure that didn't fit are accepted once there is room")
    func roomAgain() async throws {
        let isAway = Shared(true)
        let meanwhile = try await Self.opened(bytes: 1_000_000, isAway: isAway)
        meanwhile.hand(over: { $0.map { _ in .delivered } })
        let last = try #require(await Self.firstWithoutRoom(in: meanwhile))
        let exposure = Exposure(
            // Larger than assignments, for which there is no longer room.
            assignment: Assignment(
                experiment: Experiment(id: String(repeating: "b", count: 2_000)),
                variation: Variation(id: "blue")
            )
        )
        let ada = User(id: "ada", consent: .granted)
        await meanwhile.take(exposure, of: ada, isConsentStated: true)
        #expect(meanwhile.dropped == 2)
        isAway.change { $0 = false }
        await meanwhile.look()
        #expect(meanwhile.count == 0)

        isAway.change { $0 = true }
        for _ in 0..<2 {
            await meanwhile.take(Self.record(last))
            await meanwhile.take(exposure, of: ada, isConsentStated: true)
        }
        #expect(meanwhile.count == 2)
        await meanwhile.close()
    }

    /// Fills a file with events, then with assignments; returns the number of the first for which there was no room.
    private static func firstWithoutRoom(in meanwhile: Meanwhile) async -> Int? {
        for number in 0..<1_000 {
            guard await meanwhile.take(event(number)) == .accepted else { break }
        }
        for number in 0..<1_000 {
            await meanwhile.take(record(number))
            if meanwhile.dropped > 0 { return number }
        }
        return nil
    }
}
