import Foundation
import PackagePlugin

/// Writes typed keys for the manifests of a target: `flags.json` becomes `Flags`.
///
/// Declares its exact input and output, and the output depends only on the manifest: an unchanged manifest causes no
/// recompilation.
@main
struct GenerateFlagKeys: BuildToolPlugin {
    func createBuildCommands(context: PluginContext, target: any Target) async throws -> [Command] {
        guard let module = target.sourceModule else { return [] }
        let tool = try context.tool(named: "flag-keys")
        let manifests = module.sourceFiles.map(\.url).filter { $0.lastPathComponent == "flags.json" }
        if manifests.count != 1 {
            Diagnostics.error("\(target.name): expected one flags.json among its files, found \(manifests.count)")
            return []
        }
        return manifests.map { manifest in
            let output = context.pluginWorkDirectoryURL.appending(path: "Flags.swift")
            return .buildCommand(
                displayName: "Flag keys of \(manifest.lastPathComponent)",
                executable: tool.url,
                arguments: [manifest.path, output.path],
                inputFiles: [manifest],
                outputFiles: [output]
            )
        }
    }
}
