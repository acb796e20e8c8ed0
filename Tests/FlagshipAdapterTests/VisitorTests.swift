import AdapterKit
import Experimentation
import ExperimentationTesting
import Foundation
import MockVendors
import Testing
import Waiting

@testable import FlagshipAdapter

@Suite("Flagship: visitors")
struct VisitorTests {
    @Test("F45 in bucketing mode signing in changes neither ids nor status")
    func bucketingIdentity() async throws {
        let bench = try await Bench()
        let flagship = await bench.flagship(.bucketing)
        let visitor = await flagship.newVisitor("ada", hasConsented: true).build()
        await visitor.fetchFlags()
        visitor.authenticate("member")
        visitor.unauthenticate()
        #expect(visitor.visitorID == "ada" && visitor.anonymousID == nil)
        #expect(visitor.fetchStatus == .fetched)
        #expect(bench.log.entries.contains { $0.event == "flagship.AUTHENTICATE" && $0.level == .warning })
    }

    @Test("F67 a new visitor reports its consent once, and again only when it changes", arguments: [true, false])
    func consentHit(hasConsented: Bool) async throws {
        let bench = try await Bench()
        let flagship = await bench.flagship()
        _ = await flagship.newVisitor("ada", hasConsented: hasConsented).build()
        try await flagship.client?.flush()
        let hits = await bench.hits
        #expect(hits.map { $0["el"] } == [.string("iOS:\(hasConsented)")])
        #expect(hits.first?["ec"] == "User Engagement" && hits.first?["ea"] == "fs_consent")
        if hasConsented {
            _ = await flagship.newVisitor("ada", hasConsented: true).build()
            try await flagship.client?.flush()
            #expect(await bench.hits.count == 1)
        }
    }

    @Test(
        "F68 after consent is withdrawn, the withdrawal is sent, waiting and cached hits are deleted, and nothing else is sent"
    )
    func consentWithdrawn() async throws {
        let bench = try await Bench()
        let flagship = await bench.flagship()
        let visitor = await flagship.newVisitor("ada", hasConsented: true).build()
        await visitor.fetchFlags()
        try await flagship.client?.flush()
        #expect(await flagship.visitors.lookupVisitor("ada") != nil)
        bench.transport.fail("hits", .error(.transport), times: 50)
        bench.transport.fail("activate", .error(.transport), times: 50)
        await visitor.sendHit(.screen("home"))
        _ = visitor.flag("cta").value(default: "none")
        _ = try? await flagship.client?.flush(retrying: false)
        await visitor.setConsent(false)
        #expect(await visitor.sendHit(.screen("later")) == false)
        #expect(visitor.flag("size").value(default: 0) == 7)
        bench.transport.heal()
        for _ in 0..<200 where try await flagship.client?.ledger().pending != 0 {
            bench.time.advance(by: .seconds(120))
            _ = try? await flagship.client?.flush(retrying: false)
            await Task.yield()
        }
        #expect(await bench.hits.map { $0["el"] } == ["iOS:true", "iOS:false"])
        #expect(await bench.mock.receivedActivations.isEmpty)
        #expect(await flagship.visitors.lookupVisitor("ada") == nil)
        #expect(visitor.flag("cta").value(default: "none") == "new")
    }

    @Test("F69 after consent is given again, hits are sent again")
    func consentAgain() async throws {
        let bench = try await Bench()
        let flagship = await bench.flagship()
        let visitor = await flagship.newVisitor("ada", hasConsented: false).build()
        #expect(await visitor.sendHit(.screen("no")) == false)
        await visitor.setConsent(true)
        #expect(await visitor.sendHit(.screen("yes")))
        try await flagship.client?.flush()
        #expect(await bench.hits.map { $0["el"] ?? $0["dl"] } == ["iOS:false", "iOS:true", "yes"])
    }

    @Test("F70 signing in and out changes the ids as in every row of the table")
    func identities() {
        func ids(_ identity: Identity) -> [String?] { [identity.id, identity.anonymousID] }
        var visitor = Identity(id: "given")
        func changed(_ change: (inout Identity) -> Void) -> Bool {
            let before = visitor
            change(&visitor)
            return visitor != before
        }
        #expect(ids(visitor) == ["given", nil])
        #expect(!changed({ $0.unauthenticate() }))
        #expect(ids(visitor) == ["given", nil])
        var changes = [changed { $0.authenticate("x") }]
        #expect(ids(visitor) == ["x", "given"])
        #expect(visitor.isAuthenticated)
        changes.append(changed { $0.authenticate("y") })
        #expect(ids(visitor) == ["y", "given"])
        changes.append(changed { $0.authenticate("y") })
        changes.append(changed { $0.authenticate("") })
        changes.append(changed { $0.unauthenticate() })
        #expect(ids(visitor) == ["given", nil])
        #expect(!visitor.isAuthenticated)
        #expect(changes == [true, true, false, false, true])
    }

    @Test("F71 the context's visitor follows the visitor's id, on the wire too")
    func usersKey() async throws {
        let bench = try await Bench()
        let flagship = await bench.flagship()
        let visitor = await flagship.newVisitor("anon", hasConsented: true).build()
        await visitor.fetchFlags()
        visitor.authenticate("ada")
        #expect(visitor.context()["fs_users"] == "ada")
        #expect(visitor.fetchStatus == .fetchRequired && visitor.fetchReason == .authenticate)
        await visitor.fetchFlags()
        let body = try #require(bench.transport.exchanges("campaigns").last).json
        #expect(body["visitor_id"] == "ada" && body["anonymousId"] == "anon")
        #expect(body["context"]?.objectValue?["fs_users"] == "ada")
        visitor.unauthenticate()
        #expect(visitor.context()["fs_users"] == "anon" && visitor.fetchReason == .unauthenticate)
    }

    @Test("F73 the fetch status is reported in order and once: create, fetch, update, failure, panic")
    func fetchStatusSequence() async throws {
        let bench = try await Bench()
        let heard = Heard<String>()
        let flagship = await bench.flagship()
        let visitor = await flagship.newVisitor("ada", hasConsented: true)
            .onFetchStatusChanged { heard.add("\($0.rawValue)/\($1.rawValue)") }.build()
        #expect(visitor.fetchStatus == .fetchRequired && visitor.fetchReason == .visitorCreate)
        await visitor.fetchFlags()
        visitor.updateContext("age", 41)
        visitor.updateContext("age", 41)
        visitor.updateContext(["list": [1]])
        bench.transport.fail("campaigns", .status(500))
        await visitor.fetchFlags()
        await bench.mock.setPanic(true)
        await visitor.fetchFlags()
        visitor.updateContext("age", 43)
        visitor.authenticate("member")
        #expect(visitor.visitorID == "ada")
        #expect(
            heard.values == [
                "FETCHING/NONE", "FETCHED/NONE", "FETCH_REQUIRED/UPDATE_CONTEXT", "FETCHING/NONE",
                "FETCH_REQUIRED/FETCH_ERROR", "FETCHING/NONE", "PANIC/NONE",
            ]
        )
        #expect(visitor.context()["age"] == 41)
    }

    @Test("a panic that another visitor's fetch has ended no longer hides that the flags need to be fetched")
    func panicEndedElsewhere() async throws {
        let bench = try await Bench()
        let heard = Heard<String>()
        let flagship = await bench.flagship()
        let visitor = await flagship.newVisitor("ada", hasConsented: true)
            .onFetchStatusChanged { heard.add("\($0.rawValue)/\($1.rawValue)") }.build()
        await visitor.fetchFlags()
        try await Self.panic(of: visitor, endedByAnotherOf: bench)
        visitor.updateContext("age", 43)
        #expect(
            heard.values == [
                "FETCHING/NONE", "FETCHED/NONE", "FETCHING/NONE", "PANIC/NONE", "FETCH_REQUIRED/UPDATE_CONTEXT",
            ]
        )
        await visitor.fetchFlags()
        visitor.authenticate("member")
        #expect(heard.values.suffix(3) == ["FETCHING/NONE", "FETCHED/NONE", "FETCH_REQUIRED/AUTHENTICATE"])
    }

    /// Lets a visitor's fetch find a panic that another visitor's fetch then ends.
    private static func panic(of visitor: FlagshipVisitor, endedByAnotherOf bench: Bench) async throws {
        await bench.mock.setPanic(true)
        await visitor.fetchFlags()
        await bench.mock.setPanic(false)
        await visitor.flagship.newVisitor("ben", hasConsented: true).build().fetchFlags()
        #expect(visitor.flagship.status == .initialized)
    }

    @Test("flags that a panic has removed stay removed until the visitor's next successful fetch, and aren't exposed")
    func removedByPanic() async throws {
        let bench = try await Bench()
        let flagship = await bench.flagship()
        let visitor = await flagship.newVisitor("ada", hasConsented: true).build()
        await visitor.fetchFlags()
        try await Self.panic(of: visitor, endedByAnotherOf: bench)
        let flag = visitor.flag("cta")
        #expect(flag.status == .panic && !flag.exists() && flag.value(default: "none") == "none")
        flag.visitorExposed()
        bench.transport.fail("campaigns", .status(500))
        await visitor.fetchFlags()
        #expect(flag.status == .notFound && !flag.exists() && flag.value(default: "none") == "none")
        try await flagship.client?.flush()
        #expect(await bench.mock.receivedActivations.isEmpty)
        await visitor.fetchFlags()
        #expect(flag.status == .fetched && flag.value(default: "none") == "new")
        try await flagship.client?.flush()
        #expect(await bench.mock.receivedActivations.map(\.variation) == ["var-b"])
    }

    @Test(
        "F14 F15 F17 whatever prevents an answer, the flags stay, and the visitor learns that the fetch failed",
        arguments: [
            VendorTransport.Failure.status(500), .error(.transport), .error(.timeout), .body("<html></html>"),
            .body("[]"),
        ]
    )
    func failedFetch(failure: VendorTransport.Failure) async throws {
        let bench = try await Bench()
        let visitor = await bench.flagship().newVisitor("ada", hasConsented: true).build()
        await visitor.fetchFlags()
        bench.transport.fail("campaigns", failure)
        await withCheckedContinuation { continuation in visitor.fetchFlags { continuation.resume() } }
        #expect(visitor.fetchStatus == .fetchRequired && visitor.fetchReason == .fetchError)
        #expect(visitor.flag("cta").value(default: "none") == "new")
        #expect(visitor.flag("cta").status == .fetchRequired)
    }

    @Test("changes during a request still require a fetch")
    func changeDuringFetch() {
        var machine = FlagshipFetchMachine()
        var states: [String] = []
        func note() { states.append("\(machine.current.status)/\(machine.current.reason)") }
        let first = machine.begin()
        machine.change(.updateContext)
        note()
        machine.succeed(first)
        note()
        let second = machine.begin()
        note()
        machine.succeed(second)
        note()
        let required = "fetchRequired/updateContext"
        #expect(states == [required, required, "fetching/none", "fetched/none"])
    }

    @Test("of two fetches at once, the failure of the earlier one doesn't replace the flags of the later one")
    func failureOfEarlierFetch() {
        var machine = FlagshipFetchMachine()
        let earlier = machine.begin()
        let later = machine.begin()
        machine.succeed(later)
        #expect(machine.current == FlagshipFetchMachine.Announcement(status: .fetched, reason: .none))
        machine.fail(earlier)
        #expect(machine.current == FlagshipFetchMachine.Announcement(status: .fetched, reason: .none))
    }

    @Test("a fetch that began before a change doesn't count as the later fetch that is still in progress")
    func earlierSuccess() {
        var machine = FlagshipFetchMachine()
        let earlier = machine.begin()
        machine.change(.updateContext)
        let later = machine.begin()
        machine.succeed(earlier)
        #expect(machine.current == FlagshipFetchMachine.Announcement(status: .fetching, reason: .none))
        machine.fail(later)
        #expect(machine.current == FlagshipFetchMachine.Announcement(status: .fetchRequired, reason: .fetchError))
        machine.succeed(earlier)
        #expect(machine.current == FlagshipFetchMachine.Announcement(status: .fetchRequired, reason: .fetchError))
    }

    @Test("F78 without an id a visitor gets one of 36 uppercase characters, different each time")
    func madeID() async throws {
        let bench = try await Bench()
        let flagship = await bench.flagship()
        let one = await flagship.newVisitor("", hasConsented: true).build()
        let two = await flagship.newVisitor("", hasConsented: true).build()
        #expect(one.visitorID.count == 36 && one.visitorID == one.visitorID.uppercased())
        #expect(one.visitorID != two.visitorID)
    }

    @Test("F79 if signed in from the beginning, the anonymous id is the same in every run of an installation")
    func deviceID() async throws {
        let bench = try await Bench()
        var ids: [String?] = []
        for name in ["ada", "ben"] {
            let flagship = await bench.flagship()
            ids.append(await flagship.newVisitor(name, hasConsented: true).authenticated(true).build().anonymousID)
            await flagship.close()
        }
        #expect(ids[0] == ids[1])
        #expect(ids[0]?.count == 36)
    }

    @Test("F80 if not started, a fetch ends, flags aren't required for any reason, and nothing is sent")
    func notStarted() async throws {
        let bench = try await Bench()
        let flagship = await bench.flagship(environmentID: "wrong")
        let heard = Heard<String>()
        let visitor = await flagship.newVisitor("ada", hasConsented: true)
            .onFetchStatusChanged { heard.add("\($0.rawValue)/\($1.rawValue)") }.build()
        await visitor.fetchFlags()
        #expect(heard.values == ["FETCH_REQUIRED/NONE"])
        #expect(await visitor.sendHit(.screen("home")) == false)
        await visitor.setConsent(false)
        visitor.updateContext("age", 41)
        #expect(visitor.context()["age"] == nil)
        #expect(visitor.flag("cta").value(default: "none") == "none" && !visitor.flag("cta").exists())
        #expect(visitor.flags().isEmpty)
        #expect(bench.transport.exchanges.isEmpty)
    }

    @Test("a fetch calls back once on the main actor, whatever its result")
    func callback() async throws {
        let bench = try await Bench()
        let flagship = await bench.flagship()
        let visitor = await flagship.newVisitor("ada", hasConsented: true).build()
        await withCheckedContinuation { continuation in visitor.fetchFlags { continuation.resume() } }
        #expect(visitor.fetchStatus == .fetched)
    }

    @Test("an instance is shared unless a new one is requested")
    func instances() async throws {
        let bench = try await Bench()
        let flagship = await bench.flagship()
        #expect(flagship.sharedVisitor == nil)
        let shared = await flagship.newVisitor("ada", hasConsented: true).build()
        _ = await flagship.newVisitor("ben", hasConsented: true, instance: .new).build()
        #expect(flagship.sharedVisitor === shared)
    }

    @Test("after closing, a shared visitor no longer keeps Flagship alive")
    func endOfSharedVisitor() async throws {
        let bench = try await Bench()
        weak var kept: Flagship?
        do {
            let flagship = await bench.flagship()
            _ = await flagship.newVisitor("ada", hasConsented: true).build()
            kept = flagship
            await flagship.close()
            #expect(flagship.sharedVisitor == nil)
        }
        try await eventually("the end of Flagship") { kept == nil }
    }

    @Test("a visitor that is built after closing isn't shared")
    func sharedAfterClosing() async throws {
        let flagship = await (try await Bench()).flagship()
        await flagship.close()
        let visitor = await flagship.newVisitor("ada", hasConsented: true, instance: .shared).build()
        #expect(visitor.visitorID == "ada" && flagship.sharedVisitor == nil)
    }

    @Test("F65 closing delivers every visitor's waiting hits")
    func close() async throws {
        let bench = try await Bench()
        let flagship = await bench.flagship()
        for name in ["ada", "ben"] {
            let visitor = await flagship.newVisitor(name, hasConsented: true).build()
            for index in 0..<8 { await visitor.sendHit(.screen("\(name)-\(index)")) }
        }
        await flagship.close()
        #expect(await bench.hits.count == 18)
        #expect(await bench.hits.compactMap { $0["vid"]?.stringValue }.filter { $0 == "ben" }.count == 9)
    }
}
