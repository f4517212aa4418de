; Code that LLVM's just-in-time compiler makes as Julia does: it announces its objects to debuggers, with names and lines.
source_filename = "norm.jl"

@from = global i64 5
@to = global i64 0

declare i32 @cuInit(i32)
declare i32 @cuMemcpyDtoH_v2(i64*, i64, i64)

define i32 @julia_norm_42() !dbg !4 {
  %address = ptrtoint i64* @from to i64
  %result = call i32 @cuMemcpyDtoH_v2(i64* @to, i64 %address, i64 8), !dbg !7
  ret i32 %result, !dbg !8
}

define i32 @main() {
  %begun = call i32 @cuInit(i32 0)
  %copied = call i32 @julia_norm_42()
  %failures = add i32 %begun, %copied
  ret i32 %failures
}

!llvm.dbg.cu = !{!0}
!llvm.module.flags = !{!2, !3}
!0 = distinct !DICompileUnit(language: DW_LANG_Julia, file: !1, producer: "test", isOptimized: false, runtimeVersion: 0, emissionKind: FullDebug)
!1 = !DIFile(filename: "norm.jl", directory: "/srv/solver")
!2 = !{i32 2, !"Dwarf Version", i32 4}
!3 = !{i32 2, !"Debug Info Version", i32 3}
!4 = distinct !DISubprogram(name: "norm", linkageName: "julia_norm_42", scope: !1, file: !1, line: 6, type: !5, unit: !0, spFlags: DISPFlagDefinition)
!5 = !DISubroutineType(types: !6)
!6 = !{null}
!7 = !DILocation(line: 7, column: 3, scope: !4)
!8 = !DILocation(line: 8, column: 1, scope: !4)
