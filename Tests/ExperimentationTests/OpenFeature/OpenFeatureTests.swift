import Experimentation
import Foundation
import Testing

@Suite("OpenFeature's own scenarios, with the in-memory provider")
struct OpenFeatureTests {
    static let folder = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "gherkin")

    static let files = ["contextMerging", "evaluation", "evaluation_v2", "hooks", "metadata"]

    static let scenarios: [GherkinScenario] = files.flatMap { file in
        let text = try? String(contentsOf: folder.appending(path: "\(file).feature"), encoding: .utf8)
        return GherkinReader.scenarios(in: text ?? "")
    }

    @Test("there are 132 scenarios, as many as the reference parser counts")
    func count() throws {
        let counts = try Self.files.map { file in
            let url = Self.folder.appending(path: "\(file).feature")
            return GherkinReader.scenarios(in: try String(contentsOf: url, encoding: .utf8)).count
        }
        #expect(counts == [29, 13, 82, 3, 5])
        #expect(Self.scenarios.reduce(0) { $0 + $1.steps.count } == 683)
    }

    @Test(arguments: scenarios)
    func holds(_ scenario: GherkinScenario) async throws {
        let flags = try OpenFeatureFlags.load(from: Self.folder)
        try await OpenFeatureScene(scenario, flags: flags).play()
    }
}
