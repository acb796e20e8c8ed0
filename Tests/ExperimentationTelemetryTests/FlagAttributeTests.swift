import Experimentation
import ExperimentationTelemetry
import Foundation
import Testing

/// The attributes in the published model.
private struct Model: Decodable {
    struct Attribute: Decodable, Equatable {
        var name: String
        var level: String
        var was: String?
    }

    var event: String
    var attributes: [Attribute]
    var errors: [String]
    var reasons: [String]

    static func read() throws -> Model {
        let file = URL(filePath: #filePath).deletingLastPathComponent()
            .appending(path: "Fixtures/feature-flags-v1.44.0.json")
        return try JSONDecoder().decode(Model.self, from: Data(contentsOf: file))
    }
}

@Suite("Attributes of the evaluation event")
struct FlagAttributeTests {
    @Test("names, levels and former names are the published model's")
    func tableIsTheModel() throws {
        let model = try Model.read()
        #expect(FlagAttribute.event == model.event)
        let own = FlagAttribute.all.map { attribute in
            Model.Attribute(
                name: attribute.name,
                level: attribute.level.rawValue,
                was: attribute.name(.deprecated) == attribute.name ? nil : attribute.name(.deprecated)
            )
        }
        #expect(own == model.attributes)
    }

    @Test("each content is in the table once")
    func contentsAreComplete() {
        #expect(Set(FlagAttribute.all.map(\.content)) == Set(FlagAttribute.Content.allCases))
        #expect(FlagAttribute.all.count == FlagAttribute.Content.allCases.count)
    }

    @Test("between v1.32 and v1.40 only the error message had another name")
    func namesBetween() {
        let other = FlagAttribute.all.filter { $0.name(.beforeV1_40) != $0.name }
        #expect(other.map { $0.name(.beforeV1_40) } == ["error.message"])
    }

    @Test("OpenFeature's codes and reasons are the model's values, in lower case")
    func valuesAreTheModels() throws {
        let model = try Model.read()
        let codes: [ErrorCode] = [
            .flagNotFound, .invalidContext, .parseError, .providerFatal, .providerNotReady, .targetingKeyMissing,
            .typeMismatch, .general,
        ]
        #expect(codes.map { $0.rawValue.lowercased() } == model.errors)
        let reasons: [Reason] = [
            .static, .default, .targetingMatch, .split, .cached, .disabled, .unknown, .stale, .error,
        ]
        #expect(reasons.map { $0.rawValue.lowercased() } == model.reasons)
    }
}
