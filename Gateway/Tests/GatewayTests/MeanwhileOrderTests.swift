import Experimentation
import ExperimentationTesting
import Foundation
import GatewayBodies
import GatewayWaiting
import Testing

@testable import GatewayServer

@Suite("The order of events while the database is away")
struct MeanwhileOrderTests {
    private static func event(_ id: String, of user: String = "ada", text: String = "") -> EventRequest {
        EventRequest(
            id: id,
            user: User(id: user, consent: .granted),
            isConsentStated: true,
            event: .custom("x", attributes: ["t": .string(text)]),
            date: nil
        )
    }

    private static func opened(
        bytes: Int = 1_000_000,
        isAway: Shared<Bool> = Shared(true),
        outbox: any OutboxStore = InMemoryOutboxStore()
    ) async throws -> Meanwhile {
        try await Meanwhile(
            scope: "s",
            bytes: bytes,
            environment: ClientEnvironment(),
            database: DatabaseSight { isAway.value }
        ) { _ in ClientStore(outbox: outbox, state: InMemoryStateStore()) }
    }

    /// Lets a file hand over its events, and returns their ids.
    private static func handed(by meanwhile: Meanwhile) async throws -> [String] {
        let handed = Shared<[String]>([])
        meanwhile.hand { parcels in
            for case .event(let event) in parcels { handed.change { $0.append(event.id) } }
            return Array(repeating: .delivered, count: parcels.count)
        }
        try await eventually("everything is handed over") {
            await meanwhile.look()
            return !meanwhile.isNeeded
        }
        return handed.value
    }

    @Test("an event behind one of the same user that doesn't fit into the file is refused as well")
    func behindOneWithoutRoom() async throws {
        let meanwhile = try await Self.opened(bytes: 10_000)
        let client = try await ExperimentationClient(provider: Served.publisher())
        let seen = SeenEvents(state: InMemoryStateStore(), time: SystemTime(), isShared: true)
        let intake = try await EventIntake(client, seen: seen, meanwhile: meanwhile, isClosed: true)
        let large = String(repeating: "x", count: 10_000)
        let outcomes = await intake.take([
            .success(Self.event("1", text: large)), .success(Self.event("2")), .success(Self.event("3", of: "bob")),
        ])
        let codes = outcomes.map { outcome in
            if case .refused(let refusal) = outcome { refusal.code.rawValue } else { "\(outcome)" }
        }
        #expect(codes == ["OUTBOX_FULL", "OUTBOX_FULL", "accepted"])
        await client.shutdown(within: .zero)
        await meanwhile.close()
    }

    @Test("an event that the vendor doesn't take is refused, as while the database is there")
    func unsupported() async throws {
        let meanwhile = try await Self.opened()
        let vendor = ChangingVendor()
        let client = try await ExperimentationClient(provider: vendor)
        let seen = SeenEvents(state: InMemoryStateStore(), time: SystemTime(), isShared: true)
        let event = Self.event("1")
        let there = try await EventIntake(client, seen: seen)
        let away = try await EventIntake(client, seen: seen, meanwhile: meanwhile, isClosed: true)
        for intake in [there, away] {
            guard case .refused(let refusal)? = await intake.take([.success(event)]).first else {
                Issue.record("It was accepted.")
                continue
            }
            #expect(!refusal.mayPass)
            #expect(refusal.code == .unsupported)
        }
        #expect(meanwhile.count == 0)
        await client.shutdown(within: .zero)
        await meanwhile.close()
    }

    @Test("an event that this instance accepted before the outage is recognized, and undoes no later denial")
    func repeatedFromBefore() async throws {
        let isAway = Shared(false)
        let meanwhile = try await Self.opened(isAway: isAway)
        let client = try await ExperimentationClient(provider: Served.publisher())
        let seen = SeenEvents(state: InMemoryStateStore(), time: SystemTime(), isShared: true)
        let intake = try await EventIntake(client, seen: seen, meanwhile: meanwhile)
        let (granting, denial) = (
            Self.event("1"),
            EventRequest(
                id: "no",
                user: User(id: "ada"),
                isConsentStated: false,
                event: TrackingEvent(.consentChanged(granted: false)),
                date: nil
            )
        )
        #expect(await intake.take([.success(granting)]) == [.accepted])
        isAway.change { $0 = true }
        #expect(await intake.take([.success(denial)]) == [.accepted])
        #expect(await intake.take([.success(granting)]) == [.repeated])
        let later = EventRequest(id: "2", user: User(id: "ada"), isConsentStated: false, event: .installed, date: nil)
        guard case .refused(let refusal)? = await intake.take([.success(later)]).first else {
            Issue.record("The denial was undone.")
            return
        }
        #expect(refusal.code == .consentDenied)
        await client.shutdown(within: .zero)
        await meanwhile.close()
    }

    @Test(
        "an event that may be in the file although its acceptance failed holds back later ones until the file is empty"
    )
    func doubtful() async throws {
        let isAway = Shared(true)
        let outbox = SilentOutbox(base: InMemoryOutboxStore(), losses: Shared(1))
        let meanwhile = try await Self.opened(isAway: isAway, outbox: outbox)
        guard case .refused(let refusal) = await meanwhile.take(Self.event("1")) else {
            Issue.record("The answer wasn't lost.")
            return
        }
        #expect(refusal.code == .store)
        isAway.change { $0 = false }
        // An event accepted now would overtake it otherwise.
        #expect(meanwhile.isNeeded)
        #expect(await meanwhile.take(Self.event("1")) == .repeated)
        #expect(try await Self.handed(by: meanwhile) == ["1"])
        await meanwhile.close()
    }

    @Test("an event that is being written while the file is counted isn't forgotten")
    func counted() {
        let waiting = Waiting()
        func count(since changes: Int) -> Int {
            waiting.set(OutboxStatus(), unlessChangedSince: changes)
            return waiting.count
        }
        #expect(waiting.begin(bytes: 10))
        let during = waiting.changes
        #expect(count(since: during) == 1)
        waiting.end(isOut: false)
        #expect(count(since: during) == 1)
        #expect(count(since: waiting.changes) == 0)
    }
}
