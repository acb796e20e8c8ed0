#if os(Linux)
    import ChildProcesses
    import Experimentation
    import ExperimentationSQLite
    import ExperimentationTesting
    import Foundation
    import Testing
    import Waiting

    extension ChildParts {
        /// Denies consent for one user after another.
        func denies(_ words: [String]) async throws {
            let store = try SQLiteStore(at: URL(fileURLWithPath: words[0]))
            let (denied, asked) = (try LineFile(words[1]), words[2])
            for race in 0..<(Int(words[3]) ?? 0) {
                try await eventually("race \(race)") { LineFile.lines(of: asked).count > race }
                _ = try await store.setConsent([ConsentChange(userID: "u\(race)", isGranted: false)])
                denied.add("\(race)")
            }
            await store.close()
        }

        /// Delivers to one destination and hangs at another.
        func hangsAtSecond(_ words: [String]) async throws {
            let client = try await ExperimentationClient(
                provider: TwoDestinations(try LineFile(words[1]), second: nil),
                store: .sqlite(at: URL(fileURLWithPath: words[0]))
            )
            try await client.session(for: User(id: "ada")).track(.custom(words[2]))
            await ChildPart.untilKilled()
        }
    }

    /// A vendor with two destinations that record events; the second one may never answer.
    private struct TwoDestinations: ExperimentationProvider {
        private struct Silent: EventSink {
            let batching = BatchPolicy(count: 1, interval: .milliseconds(1))
            func check(_ event: TrackingEvent) throws(ExperimentationError) {}
            func deliver(_ batch: [Envelope]) async -> DeliveryReport {
                await ChildPart.untilKilled()
                return DeliveryReport(noAnswerTo: batch.count)
            }
        }

        static let second = Destination(provider: "second", scope: "")
        let first: RecordingVendor
        private let roles: ProviderRoles
        let name = "first"
        let scope = ""
        let capabilities: Set<Capability> = [.tracking]

        init(_ received: LineFile, second: LineFile?) {
            first = RecordingVendor(received, delay: .zero)
            var roles = ProviderRoles(events: first)
            let sink: any EventSink = second.map { RecordingVendor($0, delay: .zero) } ?? Silent()
            roles.furtherRoutes = [EventRoute(to: Self.second, by: sink)]
            self.roles = roles
        }

        func start(in context: ProviderContext) async throws(ExperimentationError) -> ProviderRoles { roles }
    }

    @Suite("Two processes and two destinations", .serialized)
    struct TwoProcessTests {
        private let folder = TemporaryFolder()

        init() throws { try FileManager.default.createDirectory(at: folder.url, withIntermediateDirectories: true) }

        @Test("P77 a denial in one process stops an append in another")
        func denial() async throws {
            let races = isSoak ? 200 : 25
            let (denied, asked) = (folder.file("denied").path, folder.file("asked").path)
            let store = try SQLiteStore(at: folder.file())
            let requests = try LineFile(asked)
            let child = try ChildPart.start("denies", [folder.file().path, denied, asked, "\(races)"])
            var accepted = 0
            var refusals = 0
            for race in 0..<races {
                requests.add("\(race)")
                let end = ContinuousClock.now + generousLimit
                var isTold = false
                while true {
                    // An append must respect every denial that was acknowledged before it began.
                    isTold = isTold || LineFile.lines(of: denied).count > race
                    let event = NewEvent(.sample("\(race)-\(accepted)", user: "u\(race)"), to: .home)
                    let refusal = try await store.append([event], now: noon)[0]
                    if let refusal {
                        #expect(refusal.code == .consentDenied)
                        refusals += 1
                        if isTold { break }
                    } else {
                        accepted += 1
                        #expect(!isTold, "race \(race): accepted after the denial was told")
                    }
                    if .now > end { break }
                    await Task.yield()
                }
                #expect(isTold, "race \(race)")
            }
            #expect(await child.status() == 0)
            #expect(refusals >= races)
            #expect(try await store.ledger() == Ledger(accepted: accepted, purged: accepted))
        }

        @Test("P75 a kill between the two deliveries of one event loses neither, and both ledgers balance")
        func killedBetween() async throws {
            let kills = isSoak ? 100 : 4
            let (first, second) = (folder.file("first").path, folder.file("second").path)
            for kill in 0..<kills {
                let child = try ChildPart.start("hangsAtSecond", [folder.file().path, first, "event-\(kill)"])
                try await eventually("the first delivery of event \(kill)") {
                    LineFile.lines(of: first).contains { $0.hasPrefix("event-\(kill)\t") }
                }
                await child.kill()
            }
            let client = try await ExperimentationClient(
                provider: TwoDestinations(try LineFile(first), second: try LineFile(second)),
                store: .sqlite(at: folder.file())
            )
            for _ in 0..<5 { if try await client.flush(within: .seconds(30)).isDone { break } }
            let each = Ledger(accepted: kills, delivered: kills)
            let ledgers = try await client.ledgers()
            #expect(ledgers == [Destination(provider: "first", scope: ""): each, TwoDestinations.second: each])
            await client.shutdown()
            for received in [first, second] {
                let lines = LineFile.lines(of: received).map { $0.split(separator: "\t") }
                #expect(Set(lines.map { $0[0] }) == Set((0..<kills).map { "event-\($0)" }))
                // Repetitions have the same id and time.
                #expect(Set(lines).count == kills, "\(received)")
            }
        }
    }
#endif
