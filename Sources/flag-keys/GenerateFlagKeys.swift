import Experimentation
import FlagManifest
import Foundation

/// What the plug-in runs: `flag-keys MANIFEST OUTPUT` writes the keys of a manifest as Swift.
///
/// The output is written only if it changes, so that an unchanged manifest compiles nothing again.
@main
enum GenerateFlagKeys {
    static func main() {
        let arguments = CommandLine.arguments.dropFirst()
        guard arguments.count == 2, let input = arguments.first, let output = arguments.last else {
            return fail("usage: flag-keys MANIFEST OUTPUT")
        }
        guard let json = FileManager.default.contents(atPath: input) else { return fail("\(input): can't be read") }
        let source: String
        do throws(ExperimentationError) {
            let manifest = try FlagManifest(json: Array(json), file: input)
            source = try FlagKeySource.text(of: manifest, file: URL(filePath: input).lastPathComponent)
        } catch {
            // As a compiler says it, so that editors find the place.
            return fail(error.message)
        }
        let text = Data(source.utf8)
        guard FileManager.default.contents(atPath: output) != text else { return }
        do {
            try text.write(to: URL(filePath: output), options: .atomic)
        } catch {
            fail("\(output): can't be written")
        }
    }

    private static func fail(_ message: String) {
        try? FileHandle.standardError.write(contentsOf: Data((message + "\n").utf8))
        exit(1)
    }
}
