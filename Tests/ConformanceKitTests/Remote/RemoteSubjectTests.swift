import ConformanceKit
import ConformanceStages
import ConformanceSubjects
import Experimentation
import Foundation
import Synchronization
import Testing
import Waiting

@Suite("An adapter in another process, in another language")
struct RemoteSubjectTests {
    @Test("the guide's example service keeps its declarations, over its JSON endpoint")
    func conforms() async throws {
        let service = try await PythonService()
        let subject = try await RemoteSubject.connect(to: service.url)
        #expect(subject.name == "python-example")
        // The limit is there for a service that hangs; on a busy machine a good one takes many seconds for a case.
        let runner = ConformanceRunner(limit: .seconds(120), width: 8)
        let report = await runner.run(ConformanceCase.every, against: [subject])
        let part = try #require(report.subjects.first)
        let results = part.results
        #expect(results.filter(\.outcome.isFailure).map(\.account) == [])
        #expect(results.map(\.name) == ConformanceCase.all.map(\.name))
        #expect(part.unproven == [] && part.verified == part.capabilities && part.capabilities.count == 15)
        #expect(report.isSuccess)
        #expect(report.text().contains("\n  version 1.0.0, declares 15, verified 15\n"))
        #expect(results.count { $0.outcome == .passed } > 150)
        for name in ["answer-an-event", "control-group", "late-handler"] {
            #expect(results.first { $0.name == "campaigns/\(name)" }?.outcome == .passed, "\(name)")
        }
        withExtendedLifetime(service) {}
    }

    @Test(
        "a service that prints garbage, lies or doesn't exist fails by name",
        arguments: [
            ("<html>", "is not complete, valid JSON"),
            ("{}", "result: expected an object"),
            (#"{"result":{"name":"","capabilities":[]}}"#, "name: expected a text that is not empty"),
            (#"{"result":{"name":"x\u001b[2J\npassed"}}"#, "name: expected a text of one line"),
            (#"{"result":{"name":"x","capabilities":[1]}}"#, "capabilities[0]: expected a text"),
            (#"{"result":{"name":"x","wireFields":["smell"]}}"#, "wireFields: expected some of"),
            (#"{"error":{"code":"GENERAL","message":"out of order"}}"#, "out of order"),
            (#"{"error":{"code":"GENERAL","text":"out of order"}}"#, "error.text: unknown key"),
            (#"{"result":{"name":"x"},"trace":"7"}"#, "trace: unknown key"),
        ]
    )
    func garbage(_ answer: String, _ message: String) async {
        let error = await #expect(throws: (any Error).self) {
            _ = try await RemoteSubject { _ in Array(answer.utf8) }
        }
        #expect("\(error.map { "\($0)" } ?? "no error")".contains(message) || message.hasPrefix("result"))
    }

    @Test("the gaps of a change last until the next one")
    func gaps() async throws {
        let subject = try await RemoteSubject { command in
            let text = String(decoding: command, as: UTF8.self)
            let answer =
                if text.contains("\"describe\"") {
                    #"{"name":"picky","capabilities":["campaigns"],"events":["custom","viewItem"]}"#
                } else if text.contains("\"open\"") {
                    #"{"stage":"s","gaps":[{"path":"holdouts","reason":"none"}]}"#
                } else if text.contains("\"viewItem\"") {
                    #"{"gaps":[{"path":"campaigns/spring","reason":"views aren't answered"}]}"#
                } else {
                    "{}"
                }
            return Array(#"{"result":\#(answer)}"#.utf8)
        }
        let stage = try await subject.open(.banner)
        #expect(await stage.gaps.map(\.path) == ["holdouts"])
        try await stage.change(to: .banner)
        #expect(await stage.gaps.map(\.path) == ["campaigns/spring"])
        let other = World.banner.changing { $0.campaigns[0].trigger = "custom" }
        try await stage.change(to: other)
        #expect(await stage.gaps.map(\.path) == ["holdouts"])
    }

    @Test("a service that starts to fail halfway fails its own cases and no other subject's")
    func madness() async throws {
        let description = #"{"result":{"name":"mad","capabilities":["flags"],"decides":true}}"#
        let subject = try await RemoteSubject { command in
            let text = String(decoding: command, as: UTF8.self)
            return Array((text.contains("\"describe\"") ? description : "\u{1}{{").utf8)
        }
        let cases = Array(ConformanceCase.all.prefix(2))
        let report = await ConformanceRunner().run(cases, against: [subject, InMemorySubject()])
        #expect(
            report.subjects.map { $0.results.map(\.outcome.word) } == [["failed", "failed"], ["passed", "passed"]]
        )
    }

    @Test(
        "the vendor returns only after requests sent while it was away are answered, even for a caller that has left",
        arguments: [false, true]
    )
    func order(leaves: Bool) async throws {
        let heard = Mutex<[String]>([])
        let answered = AsyncGate()
        let subject = try await RemoteSubject { command in
            let text = String(decoding: command, as: UTF8.self)
            let word = ["describe", "open", "received", "setReachable"].first { text.contains("\"\($0)\"") } ?? "?"
            heard.withLock { $0.append(word) }
            if word == "received" {
                await answered.wait()
                heard.withLock { $0.append("answered") }
            }
            let results = [
                "describe": #"{"name":"slow","capabilities":[]}"#, "open": #"{"stage":"s"}"#,
                "received": #"{"received":[]}"#,
            ]
            return Array("{\"result\":\(results[word] ?? "{}")}".utf8)
        }
        let stage = try await subject.open(World(name: "slow"))
        let call = Task { try await stage.received() }
        try await eventually("the call") { heard.withLock { $0.last } == "received" }
        if leaves {
            call.cancel()
            let error = await #expect(throws: ExperimentationError.self) { try await call.value }
            #expect(error?.code == .cancelled)
        }
        async let back: Void = stage.setReachable(true)
        for _ in 0..<100 { await Task.yield() }
        answered.open()
        try await back
        if !leaves { #expect(try await call.value.isEmpty) }
        #expect(heard.withLock { $0 } == ["describe", "open", "received", "answered", "setReachable"])
    }

    /// A connection to a service that doesn't exist: fixed answers by command, otherwise `{}`.
    private static func subject(_ answers: [String: String]) async throws -> RemoteSubject {
        try await RemoteSubject { command in
            let text = String(decoding: command, as: UTF8.self)
            let answer = answers.first { text.contains("\"command\":\"\($0.key)\"") }?.value
            return Array("{\"result\":\(answer ?? "{}")}".utf8)
        }
    }

    @Test(
        "deviations recorded by another process are reported with reason and link, and fail if the case passes"
    )
    func knownDeviations() async throws {
        let subject = try await Self.subject([
            "describe": """
            {"name":"frank","capabilities":["flags"],"decides":true,"knownDeviations":[
            {"case":"evaluation/boolean-values","reason":"it knows no flag","link":"https://example.com/7"},
            {"case":"evaluation/missing-flag","reason":"it was otherwise once"}]}
            """,
            "open": #"{"stage":"s"}"#, "start": #"{"provider":"p"}"#, "decisions": #"{"flags":[],"assignments":[]}"#,
        ])
        let cases = ["evaluation/boolean-values", "evaluation/missing-flag"].map { name in
            ConformanceCase.all.filter { $0.name == name }
        }
        let report = await ConformanceRunner().run(cases.flatMap { $0 }, against: [subject])
        let outcomes = try #require(report.subjects.first).results.map(\.outcome)
        #expect(outcomes.map(\.word) == ["deviates", "broken"])
        #expect(outcomes.first?.reason == "it knows no flag")
        #expect(outcomes.last == .outdated(KnownDeviation("evaluation/missing-flag", reason: "it was otherwise once")))
        #expect(report.document().objectValue?["success"] == false)
        let written = report.document().objectValue?["subjects"]?.arrayValue?.first?.objectValue?["cases"]?.arrayValue
        #expect(written?.first?.objectValue?["link"] == "https://example.com/7")
    }

    @Test("from the second protocol on, a provider gets the suite's time and a fresh id", arguments: [nil, 1, 2])
    func timeAndIDs(_ spoken: Int?) async throws {
        let commands = Mutex<[FlagValue]>([])
        let says = spoken.map { ",\"protocol\":\($0)" } ?? ""
        let subject = try await RemoteSubject { command in
            let value = try JSONDecoder().decode(FlagValue.self, from: Data(command))
            commands.withLock { $0.append(value) }
            let answers: [FlagValue: String] = [
                "describe": #"{"name":"old","capabilities":["flags"],"decides":true,"version":"3"\#(says)}"#,
                "open": #"{"stage":"s"}"#, "start": #"{"provider":"p"}"#,
            ]
            return Array("{\"result\":\(answers[value.objectValue?["command"] ?? .null] ?? "{}")}".utf8)
        }
        #expect(subject.spokenProtocol == spoken ?? 1)
        #expect(subject.version == "3")
        let time = SuiteTime()
        time.push(by: .seconds(86_400))
        let environment = ClientEnvironment(time: time, makeID: { "id-7" }, jitter: { 0.5 })
        let roles = try await subject.open(.empty).makeProvider().start(in: ProviderContext(environment: environment))
        guard case .asked(let source) = roles.decisions else { throw SubjectError.broken("it must be asked") }
        _ = try await source.decisions(for: EvaluationContext(user: .ada, date: time.now))
        let sent = commands.withLock { $0 }
        #expect(sent.first?.objectValue?["protocol"] == 3)
        let question = try #require(sent.last?.objectValue)
        #expect(question["command"] == "decisions")
        #expect(question["id"] == (spoken == 2 ? "id-7" : nil))
        let today = time.now.formatted(.iso8601.year().month().day())
        #expect(question["now"]?.stringValue.map { $0.hasPrefix(today) } == (spoken == 2 ? true : nil))
    }

    @Test("an unknown protocol is rejected by name")
    func newerProtocol() async {
        let error = await #expect(throws: DocumentError.self) {
            _ = try await Self.subject(["describe": #"{"name":"new","protocol":4}"#])
        }
        #expect(error?.path == "result.protocol")
    }

    @Test("campaigns arrive complete over the connection")
    func campaigns() async throws {
        let subject = try await Self.subject([
            "describe":
                #"{"name":"bill","capabilities":["campaigns","tracking"],"events":["installed"],"campaignLimit":3}"#,
            "open": #"{"stage":"s"}"#, "start": #"{"provider":"p"}"#,
            "deliver": """
            {"verdicts":{"e-1":{"verdict":"delivered"}},"campaigns":[{"event":"e-1","id":"c","name":"C","target":"top",
            "experience":"x","experienceName":"X","message":"m","content":{"a":1},"promotedItems":{"product":["p-1"]},
            "isControlGroup":true}]}
            """,
        ])
        let roles = try await subject.open(.empty).makeProvider().start(in: ProviderContext())
        #expect(roles.campaigns?.limitPerTarget == 3)
        let envelope = Envelope(id: "e-1", identity: Identity(id: "ada"), event: .installed, date: .now)
        let report = await roles.events?.deliver([envelope])
        let campaign = Campaign(
            id: "c",
            name: "C",
            target: "top",
            experience: Variation(id: "x", name: "X"),
            messageID: "m",
            content: ["a": 1],
            promotedItems: ["product": ["p-1"]],
            isControlGroup: true
        )
        #expect(report?.campaigns == [ReceivedCampaign(eventID: "e-1", campaign: campaign)])
        #expect(report?.verdicts == .each([.delivered]))
    }

    @Test("verdicts, sent with ids, are assigned to their events in any order")
    func verdicts() async throws {
        let subject = try await Self.subject([
            "describe": #"{"name":"bill","capabilities":["tracking"],"events":["installed"]}"#,
            "open": #"{"stage":"s"}"#, "start": #"{"provider":"p"}"#,
            "deliver": """
            {"verdicts":{"e-3":{"verdict":"delivered"},"e-9":{"verdict":"delivered"},
            "e-1":{"verdict":"rejected","reason":"no"}},"disabled":true}
            """,
        ])
        let roles = try await subject.open(.empty).makeProvider().start(in: ProviderContext())
        let batch = (1...3).map {
            Envelope(id: "e-\($0)", identity: Identity(id: "ada"), event: .installed, date: .now)
        }
        let report = await roles.events?.deliver(batch)
        #expect(report?.verdicts == .each([.rejected("no"), nil, .delivered]))
        #expect(report?.isDisabled == true)
    }

    @Test("an invalid campaign is an outage: the event is sent again")
    func badCampaign() async throws {
        let subject = try await Self.subject([
            "describe": #"{"name":"bill","capabilities":["campaigns"],"events":["installed"],"campaignLimit":3}"#,
            "open": #"{"stage":"s"}"#, "start": #"{"provider":"p"}"#,
            "deliver": #"{"verdicts":{"e-1":{"verdict":"delivered"}},"campaigns":[{"event":"e-1","id":"c"}]}"#,
        ])
        let roles = try await subject.open(.empty).makeProvider().start(in: ProviderContext())
        let envelope = Envelope(id: "e-1", identity: Identity(id: "ada"), event: .installed, date: .now)
        let reason = "answer to deliver: result.campaigns[0].target: expected a text, found nothing"
        let verdicts = await roles.events?.deliver([envelope]).verdicts
        #expect(verdicts == .all(.outage(because: OutageReason(rawValue: reason))))
    }

    @Test(
        "a service that never answers fails its cases by name, in bounded time, and no other subject's",
        .timeLimit(.minutes(5))
    )
    func silence() async throws {
        let subject = try await RemoteSubject { command in
            if String(decoding: command, as: UTF8.self).contains("\"describe\"") {
                return Array(#"{"result":{"name":"mute","capabilities":["flags"],"decides":true}}"#.utf8)
            }
            await withUnsafeContinuation { (_: UnsafeContinuation<Void, Never>) in }
            return []
        }
        let cases = Array(ConformanceCase.all.prefix(2))
        // Long enough for the working subject, however busy the machine is.
        let report = await ConformanceRunner(limit: .seconds(5)).run(
            cases,
            against: [subject, InMemorySubject()]
        )
        #expect(
            report.subjects.map { $0.results.map(\.outcome.word) } == [["failed", "failed"], ["passed", "passed"]]
        )
        #expect(report.subjects[0].results[0].outcome.failures.first?.message.hasPrefix("mute hangs") == true)
    }

    @Test("a service that dies halfway fails by name, and the others' results are complete")
    func death() async throws {
        let service = try await PythonService()
        let subject = try await RemoteSubject.connect(to: service.url)
        service.kill()
        let cases = Array(ConformanceCase.all.prefix(2))
        let report = await ConformanceRunner().run(cases, against: [subject, InMemorySubject()])
        #expect(
            report.subjects.map { $0.results.map(\.outcome.word) } == [["failed", "failed"], ["passed", "passed"]]
        )
        let message = report.subjects[0].results[0].outcome.failures.first?.message
        #expect(message?.hasPrefix("python-example can't be opened") == true, "\(message ?? "no message")")
    }

    @Test("an unreachable address is reported in one line")
    func nobody() async {
        await #expect(throws: ExperimentationError.self) { try await RemoteSubject.connect(to: "http://127.0.0.1:9/") }
        await #expect(throws: ExperimentationError.self) { try await RemoteSubject.connect(to: "http://example.com/") }
    }
}
