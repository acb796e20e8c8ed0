import Experimentation
import ExperimentationTesting
import Foundation
import GatewayBodies
import GatewayWaiting
import Testing

@testable import GatewayServer

@Suite("Consent while the database is away")
struct MeanwhileConsentTests {
    /// How many bytes may wait in the file.
    private static let room = 1_000_000

    private static func opened(
        isAway: Shared<Bool> = Shared(true),
        time: any TimeSource = SystemTime()
    ) async throws -> Meanwhile {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("consent-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        return try await Meanwhile(
            file: folder.appendingPathComponent("m.sqlite"),
            scope: "s",
            bytes: room,
            environment: ClientEnvironment(time: time),
            database: DatabaseSight { isAway.value }
        )
    }

    private static func consent(_ isGranted: Bool, _ id: String) -> EventRequest {
        let event = TrackingEvent(.consentChanged(granted: isGranted))
        return EventRequest(id: id, user: User(id: "ada"), isConsentStated: false, event: event, date: nil)
    }

    private static func event(
        _ id: String,
        _ consent: Consent = .unknown,
        isStated: Bool = true,
        text: String = ""
    ) -> EventRequest {
        let (user, event) = (
            User(id: "ada", consent: consent), TrackingEvent.custom("x", attributes: ["t": .string(text)])
        )
        return EventRequest(id: id, user: user, isConsentStated: isStated, event: event, date: nil)
    }

    /// The outcomes of events that are accepted one after another: the code of a refusal, or another outcome.
    private static func outcomes(_ events: [EventRequest], of meanwhile: Meanwhile) async -> [String] {
        var outcomes: [String] = []
        for event in events {
            switch await meanwhile.take(event) {
            case .accepted: outcomes.append("\(event.id) accepted")
            case .repeated: outcomes.append("\(event.id) repeated")
            case .refused(let refusal): outcomes.append("\(event.id) \(refusal.code.rawValue)")
            }
        }
        return outcomes
    }

    /// The ids that are handed over when the database is back.
    private static func handed(by meanwhile: Meanwhile, _ isAway: Shared<Bool>) async throws -> [String] {
        let handed = Shared<[String]>([])
        meanwhile.hand { parcels in
            for case .event(let event) in parcels { handed.change { $0.append(event.id) } }
            return Array(repeating: .delivered, count: parcels.count)
        }
        isAway.change { $0 = false }
        try await eventually("everything is handed over") {
            await meanwhile.look()
            return meanwhile.count == 0
        }
        return handed.value
    }

    @Test("a grant that is sent again doesn't undo the denial that came after it")
    func repeated() async throws {
        let isAway = Shared(true)
        let meanwhile = try await Self.opened(isAway: isAway)
        let events = [
            Self.consent(true, "yes"), Self.event("1", .granted), Self.consent(false, "no"), Self.consent(true, "yes"),
            Self.event("1", .granted), Self.event("2"),
        ]
        let outcomes = await Self.outcomes(events, of: meanwhile)
        #expect(
            outcomes == [
                "yes accepted", "1 accepted", "no accepted", "yes repeated", "1 repeated", "2 CONSENT_DENIED",
            ]
        )
        #expect(try await Self.handed(by: meanwhile, isAway) == ["yes", "no"])
        // From here on the database decides.
        #expect(await Self.outcomes([Self.event("3")], of: meanwhile) == ["3 accepted"])
        await meanwhile.close()
    }

    @Test("a grant that a denial kept from being handed over doesn't undo the denial when it is sent again")
    func repeatedAfterwards() async throws {
        let isAway = Shared(true)
        let meanwhile = try await Self.opened(isAway: isAway)
        let client = try await ExperimentationClient(provider: Served.publisher())
        let state = InMemoryStateStore()
        let seen = SeenEvents(state: state, time: SystemTime(), isShared: true)
        let intake = try await EventIntake(client, seen: seen, meanwhile: meanwhile)
        let book = AssignmentBook(state: state, of: Served.publisher().destination, time: SystemTime())
        meanwhile.hand {
            await TenantConnection.hand($0, to: intake, and: book)
        } noting: {
            await intake.note($0)
        }
        let granting = Self.event("1", .granted)
        let denial = Self.consent(false, "no")
        #expect(await intake.take([.success(granting), .success(denial)]) == [.accepted, .accepted])
        isAway.change { $0 = false }
        try await eventually("the denial is handed over") {
            await meanwhile.look()
            return meanwhile.count == 0
        }
        #expect(await intake.take([.success(granting)]) == [.repeated])
        guard case .refused(let refusal)? = await intake.take([.success(Self.event("2"))]).first else {
            Issue.record("The denial was undone.")
            return
        }
        #expect(refusal.code == .consentDenied)
        await client.shutdown(within: .zero)
        await meanwhile.close()
    }

    @Test("a denial is answered while the database hangs, and the vendor is notified of it once")
    func hanging() async throws {
        let isAway = Shared(true)
        let meanwhile = try await Self.opened(isAway: isAway)
        let (state, provider, outbox) = (InMemoryStateStore(), Served.publisher(), HangingOutbox())
        let client = try await ExperimentationClient(
            provider: provider,
            store: ClientStore(outbox: outbox, state: state)
        )
        let seen = SeenEvents(state: state, time: SystemTime(), isShared: true)
        let intake = try await EventIntake(client, seen: seen, meanwhile: meanwhile)
        let book = AssignmentBook(state: state, of: provider.destination, time: SystemTime())
        meanwhile.hand { await TenantConnection.hand($0, to: intake, and: book) }
        let outcomes = Shared<[EventOutcome]>([])
        let taking = Task {
            let taken = await intake.take([.success(Self.consent(false, "no"))])
            outcomes.change { $0 = taken }
        }
        defer { outbox.goOn() }
        try await eventually("the denial is answered", within: .seconds(20)) { outcomes.value == [.accepted] }
        outbox.goOn()
        await taking.value
        isAway.change { $0 = false }
        try await eventually("the denial is handed over") {
            await meanwhile.look()
            return meanwhile.count == 0
        }
        _ = try await client.flush(retrying: false)
        #expect(provider.delivered.map(\.type) == ["consentChanged"])
        await client.shutdown(within: .zero)
        await meanwhile.close()
    }

    @Test("a default of the tenant doesn't undo a denial; consent stated by the user does")
    func unstated() async throws {
        let isAway = Shared(true)
        let meanwhile = try await Self.opened(isAway: isAway)
        let events = [
            Self.event("1", .granted, isStated: false), Self.consent(false, "no"),
            Self.event("2", .granted, isStated: false), Self.event("3", .denied), Self.event("4", .granted),
            Self.event("5", .granted, isStated: false),
        ]
        let outcomes = await Self.outcomes(events, of: meanwhile)
        #expect(
            outcomes == [
                "1 accepted", "no accepted", "2 CONSENT_DENIED", "3 CONSENT_DENIED", "4 accepted", "5 accepted",
            ]
        )
        #expect(try await Self.handed(by: meanwhile, isAway).suffix(3) == ["no", "4", "5"])
        await meanwhile.close()
    }

    @Test("a grant that doesn't fit into the file doesn't undo a denial")
    func full() async throws {
        let meanwhile = try await Self.opened()
        let large = String(repeating: "x", count: Self.room)
        let events = [
            Self.consent(false, "no"), Self.event("1", .granted, text: large), Self.event("2"),
            Self.event("3", .granted),
            Self.event("4"),
        ]
        let outcomes = await Self.outcomes(events, of: meanwhile)
        #expect(outcomes == ["no accepted", "1 OUTBOX_FULL", "2 CONSENT_DENIED", "3 accepted", "4 accepted"])
        await meanwhile.close()
    }

    @Test("while a user's grant is being accepted, the user's events are neither handed over nor discarded")
    func unsettled() async throws {
        let marks = DenialMarks(InMemoryStateStore())
        let standings = Shared<[DenialMarks.Standing]>([])
        func look() async {
            let standing = await marks.standing(of: "ada")
            standings.change { $0.append(standing) }
        }
        await look()
        try await marks.set(by: Self.consent(false, "no"))
        await look()
        try? await marks.end(by: Self.consent(true, "yes")) { () async throws(ExperimentationError) in
            await look()
            throw ExperimentationError(.outboxFull, "There is no room.")
        }
        await look()
        try await marks.end(by: Self.consent(true, "yes")) { () async throws(ExperimentationError) in await look() }
        await look()
        #expect(standings.value == [.free, .denied, .unsettled, .denied, .unsettled, .free])
    }

    @Test("events of a user whose mark can't be read are neither handed over nor discarded")
    func unread() async throws {
        let readings = Shared(0)
        let marks = DenialMarks(FailingState(baseState: InMemoryStateStore(), readings: readings))
        try await marks.set(by: Self.consent(false, "no"))
        readings.change { $0 = 1 }
        #expect(await marks.standing(of: "ada") == .unsettled)
        #expect(await marks.standing(of: "ada") == .denied)
    }

    @Test("ending a denial doesn't end a later one")
    func later() async throws {
        let marks = DenialMarks(InMemoryStateStore())
        try await marks.set(by: Self.consent(false, "no"))
        try await marks.end(by: Self.consent(true, "yes")) { () async throws(ExperimentationError) in
            try await marks.set(by: Self.consent(false, "no again"))
        }
        #expect(await marks.standing(of: "ada") == .denied)
        await marks.remove(after: Self.consent(false, "no"))
        #expect(await marks.standing(of: "ada") == .denied)
        await marks.remove(after: Self.consent(false, "no again"))
        #expect(await marks.standing(of: "ada") == .free)
    }

    @Test(
        "a grant that was accepted counts, although the denial's mark couldn't be removed",
        arguments: [false, true]
    )
    func markThatStays(isRepeated: Bool) async throws {
        let isAway = Shared(true)
        let state = FailingState(baseState: InMemoryStateStore(), updates: Shared(1))
        let meanwhile = try await Meanwhile(
            scope: "s",
            bytes: Self.room,
            environment: ClientEnvironment(),
            database: DatabaseSight { isAway.value }
        ) { _ in ClientStore(outbox: InMemoryOutboxStore(), state: state) }
        let outcomes = await Self.outcomes([Self.consent(false, "no"), Self.event("1", .granted)], of: meanwhile)
        #expect(outcomes == ["no accepted", "1 STORE"])
        if isRepeated {
            let outcomes = await Self.outcomes([Self.event("1", .granted), Self.event("2")], of: meanwhile)
            #expect(outcomes == ["1 repeated", "2 accepted"])
        }
        #expect(try await Self.handed(by: meanwhile, isAway) == ["no", "1"] + (isRepeated ? ["2"] : []))
        await meanwhile.close()
    }

    @Test("grants that are accepted at the same moment end the denial, whichever is refused")
    func several() async throws {
        let marks = DenialMarks(InMemoryStateStore())
        try await marks.set(by: Self.consent(false, "no"))
        try? await marks.end(by: Self.event("1", .granted)) { () async throws(ExperimentationError) in
            try await marks.end(by: Self.event("2", .granted)) {}
            throw ExperimentationError(.outboxFull, "There is no room.")
        }
        #expect(await marks.standing(of: "ada") == .free)
        try await marks.set(by: Self.consent(false, "no"))
        try await marks.end(by: Self.event("1", .granted)) { () async throws(ExperimentationError) in
            try? await marks.end(by: Self.event("2", .granted)) { () async throws(ExperimentationError) in
                throw ExperimentationError(.outboxFull, "There is no room.")
            }
        }
        #expect(await marks.standing(of: "ada") == .free)
        // A refused grant leaves nothing behind.
        try await marks.set(by: Self.consent(false, "no"))
        try? await marks.end(by: Self.event("3", .granted)) { () async throws(ExperimentationError) in
            throw ExperimentationError(.outboxFull, "There is no room.")
        }
        #expect(await marks.standing(of: "ada", for: Self.event("3", .granted)) == .denied)
        // Nor if another one with an unknown outcome was listed with it.
        try? await marks.end(by: Self.event("4", .granted)) { () async throws(ExperimentationError) in
            try? await marks.end(by: Self.event("5", .granted)) { () async throws(ExperimentationError) in
                throw ExperimentationError(.timeout, "There was no answer.")
            }
            throw ExperimentationError(.outboxFull, "There is no room.")
        }
        #expect(await marks.standing(of: "ada", for: Self.event("4", .granted)) == .denied)
        #expect(await marks.standing(of: "ada", for: Self.event("5", .granted)) == .free)
    }

    @Test("the ids in the file are deleted after two days as well")
    func days() async throws {
        let time = ManualTime()
        let meanwhile = try await Self.opened(isAway: Shared(false), time: time)
        meanwhile.hand { parcels in Array(repeating: .delivered, count: parcels.count) }
        #expect(await Self.outcomes([Self.event("1")], of: meanwhile) == ["1 accepted"])
        let day = meanwhile.seen.key("", day: meanwhile.seen.today)
        time.advance(by: .seconds(2 * 86_400))
        #expect(await Self.outcomes([Self.event("2")], of: meanwhile) == ["2 accepted"])
        try await meanwhile.forget()
        #expect(try await meanwhile.seen.state.keys(beginningWith: day) == [])
        #expect(try await meanwhile.seen.state.keys(beginningWith: "gateway/event/").count == 1)
        await meanwhile.close()
    }
}
